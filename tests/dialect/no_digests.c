/* SPDX-License-Identifier: Apache-2.0 */
/* A libcrypto without functions, as which a machine that has none looks to the library. */
const int bloomery_no_digests = 1;
