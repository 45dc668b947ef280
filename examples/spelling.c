/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spelling by a word list that takes 14 bits a word, as the first spell checkers worked.
 *
 *     spelling WORDS < text
 *
 * Prints the words of the text that are not in the list (a file, one word a line). A static filter
 * is the smallest there is; one misspelt word in 10,000 is overlooked.
 *
 * Introduces: bloomery_builder_open, _add, _finish; key rules (words are compared in lower case).
 */
#include <bloomery/builder.h>
#include <bloomery/records.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lower case, as the filter's rule says: a program that opens its file makes the same keys. */
static const bloomery_key_rule rule = {.flags = BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER};

static bool key_of(const char *word, size_t bytes, char *room, size_t room_bytes, bloomery_key *key)
{
    return bloomery_rule_apply(&rule, word, bytes, room, room_bytes, key, NULL) ==
               BLOOMERY_RECORD_KEY &&
           key->bytes > 0;
}

static int read_words(const char *path, const bloomery_filter **filter, bloomery_error *error)
{
    bloomery_plan plan = {.keys = 100000, .rate = 1e-4};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_builder *builder = NULL;
    char line[256], room[BLOOMERY_RULE_ROOM(sizeof(line))];
    bloomery_key key;
    const bloomery_keys keys = bloomery_keys_of_list(&key, 1);

    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    options.rule = rule;
    bloomery_status status = bloomery_builder_open(&plan, &options, NULL, &builder, error);
    while (status == BLOOMERY_OK && fgets(line, sizeof(line), file) != NULL)
        if (key_of(line, strcspn(line, "\n"), room, sizeof(room), &key))
            status = bloomery_builder_add(builder, &keys, error);
    if (status == BLOOMERY_OK)
        status = bloomery_builder_finish(builder, filter, error);
    bloomery_builder_free(builder);
    fclose(file);
    if (status != BLOOMERY_OK)
        fprintf(stderr, "spelling: %s\n", error->text);
    return status;
}

int main(int argc, char **argv)
{
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    char word[256], room[BLOOMERY_RULE_ROOM(sizeof(word))];
    size_t bytes = 0;
    int letter, wrong = 0;
    bloomery_key key;

    if (argc != 2) {
        fputs("usage: spelling WORDS < text\n", stderr);
        return 2;
    }
    if (read_words(argv[1], &filter, &error) != 0)
        return 2;
    do {
        letter = getchar();
        if (letter != EOF && (isalpha(letter) || letter == '\'' || letter > 127)) {
            if (bytes < sizeof(word) - 1)
                word[bytes++] = (char)letter;
            continue;
        }
        if (key_of(word, bytes, room, sizeof(room), &key) && !bloomery_may_contain(filter, key)) {
            printf("%.*s\n", (int)bytes, word);
            wrong++;
        }
        bytes = 0;
    } while (letter != EOF);
    bloomery_free(filter);
    return wrong > 0;
}
