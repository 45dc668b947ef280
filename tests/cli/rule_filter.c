/* SPDX-License-Identifier: Apache-2.0 */
/* rule_filter FILE FLAGS FIELD: an empty filter whose keys are made by a rule. The command can't
 * make one yet; the files exist, and it must refuse to ask them with other keys. */
#include <bloomery/bloomery.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    bloomery_plan plan = {.keys = 100, .rate = 0.01};
    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    options.rule.flags = (uint32_t)strtoul(argv[2], NULL, 10);
    options.rule.field = (int32_t)strtol(argv[3], NULL, 10);
    options.rule.delimiter = options.rule.field != 0 ? ',' : 0;
    bool good = bloomery_plan_solve(&plan, &options, &error) == BLOOMERY_OK &&
                bloomery_create(&plan, &options, &filter, &error) == BLOOMERY_OK &&
                bloomery_save(filter, argv[1], &error) == BLOOMERY_OK;
    if (!good)
        fprintf(stderr, "rule_filter: %s\n", error.text);
    bloomery_free(filter);
    return good ? 0 : 2;
}
