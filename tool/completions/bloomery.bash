# SPDX-License-Identifier: Apache-2.0
# Completion of bloomery for bash. Made by scripts/make-completions from the command's help: change that.

_bloomery()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} at=1 words='' kind='files'
    COMPREPLY=()
    # bash takes --kind=word apart: the value follows a word that is '='.
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$command" = sieve ]; then
        at=2
        command="sieve ${COMP_WORDS[2]}"
    fi
    if [ "$COMP_CWORD" -eq 1 ] || { [ "$command" = help ] && [ "$COMP_CWORD" -eq 2 ]; }; then
        words='plan build add remove query dedupe merge fold convert dialects compare inspect plot explore generate sieve help --help --version'
    elif [ "$at" -eq 2 ] && [ "$COMP_CWORD" -eq 2 ]; then
        words='push pop ack mark contains flush status import export verify recover --help'
    else
    case "$command $previous" in
    'plan --keys'|'plan -n') kind='nothing' ;;
    'plan --rate'|'plan -p') kind='nothing' ;;
    'plan --memory') kind='nothing' ;;
    'plan --kind') words='blocked classic counting scalable static' ;;
    'plan --grow-to') kind='nothing' ;;
    'plan --counter-bits') words='4 8' ;;
    'plan --blocks') kind='nothing' ;;
    'plan --folds') kind='nothing' ;;
    'plan --bits-per-key') kind='nothing' ;;
    'plan --probes') kind='nothing' ;;
    'plan --table') words='classic clickhouse' ;;
    'plan --page') kind='files' ;;
    'plan --pushes') kind='nothing' ;;
    'plan --key-bytes') kind='nothing' ;;
    'plan --cache-hit') kind='nothing' ;;
    'plan --disk-speed') kind='nothing' ;;
    'plan --fingerprint-bits') words='48 64' ;;
    'plan --partitions') kind='nothing' ;;
    'build --output'|'build -o') kind='files' ;;
    'build --keys'|'build -n') kind='nothing' ;;
    'build --rate'|'build -p') kind='nothing' ;;
    'build --memory') kind='nothing' ;;
    'build --kind') words='blocked classic counting scalable static' ;;
    'build --temp') kind='folders' ;;
    'build --counter-bits') words='4 8' ;;
    'build --blocks') kind='nothing' ;;
    'build --folds') kind='nothing' ;;
    'build --seed') kind='nothing' ;;
    'build --secret-file') kind='files' ;;
    'build --note') kind='nothing' ;;
    'build --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'build --threads'|'build -j') kind='nothing' ;;
    'build --max-line') kind='nothing' ;;
    'build --progress') words='always never auto' ;;
    'build --comment') kind='nothing' ;;
    'build --field'|'build -F') kind='nothing' ;;
    'build --jsonl') kind='nothing' ;;
    'build --delimiter'|'build -d') kind='nothing' ;;
    'add --threads'|'add -j') kind='nothing' ;;
    'add --max-line') kind='nothing' ;;
    'add --memory') kind='nothing' ;;
    'add --secret-file') kind='files' ;;
    'add --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'add --max-rate') kind='nothing' ;;
    'add --progress') words='always never auto' ;;
    'remove --max-line') kind='nothing' ;;
    'remove --secret-file') kind='files' ;;
    'remove --progress') words='always never auto' ;;
    'query --filter'|'query -f') kind='files' ;;
    'query --max-count'|'query -m') kind='nothing' ;;
    'query --output'|'query -o') kind='files' ;;
    'query --key'|'query -k') kind='nothing' ;;
    'query --threads'|'query -j') kind='nothing' ;;
    'query --max-line') kind='nothing' ;;
    'query --progress') words='always never auto' ;;
    'query --secret-file') kind='files' ;;
    'query --confirm') kind='files' ;;
    'query --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'query --comment') kind='nothing' ;;
    'query --field'|'query -F') kind='nothing' ;;
    'query --jsonl') kind='nothing' ;;
    'query --delimiter'|'query -d') kind='nothing' ;;
    'dedupe --keys'|'dedupe -n') kind='nothing' ;;
    'dedupe --rate'|'dedupe -p') kind='nothing' ;;
    'dedupe --memory') kind='nothing' ;;
    'dedupe --on-full') words='grow stop' ;;
    'dedupe --output'|'dedupe -o') kind='files' ;;
    'dedupe --against') kind='files' ;;
    'dedupe --append') kind='files' ;;
    'dedupe --state') kind='files' ;;
    'dedupe --secret-file') kind='files' ;;
    'dedupe --threads'|'dedupe -j') kind='nothing' ;;
    'dedupe --max-line') kind='nothing' ;;
    'dedupe --progress') words='always never auto' ;;
    'dedupe --comment') kind='nothing' ;;
    'dedupe --field'|'dedupe -F') kind='nothing' ;;
    'dedupe --jsonl') kind='nothing' ;;
    'dedupe --delimiter'|'dedupe -d') kind='nothing' ;;
    'dedupe --unit') words='document paragraph ngram' ;;
    'dedupe --ngram') kind='nothing' ;;
    'dedupe --threshold') kind='nothing' ;;
    'dedupe --min-words') kind='nothing' ;;
    'dedupe --output-dir') kind='folders' ;;
    'dedupe --checkpoint') kind='nothing' ;;
    'dedupe --shard') kind='nothing' ;;
    'dedupe --shard-by') words='files key' ;;
    'merge --output'|'merge -o') kind='files' ;;
    'merge --secret-file') kind='files' ;;
    'merge --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'fold --output'|'fold -o') kind='files' ;;
    'fold --times') kind='nothing' ;;
    'fold --memory') kind='nothing' ;;
    'convert --output'|'convert -o') kind='files' ;;
    'convert --kind') words='blocked' ;;
    'convert --from') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'convert --to') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'convert --redis-key') kind='nothing' ;;
    'convert --note') kind='nothing' ;;
    'convert --comment') kind='nothing' ;;
    'convert --field'|'convert -F') kind='nothing' ;;
    'convert --jsonl') kind='nothing' ;;
    'convert --delimiter'|'convert -d') kind='nothing' ;;
    'compare --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'inspect --measure') kind='nothing' ;;
    'inspect --seed') kind='nothing' ;;
    'inspect --canary') kind='files' ;;
    'inspect --secret-file') kind='files' ;;
    'inspect --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'inspect --progress') words='always never auto' ;;
    'plot --keys'|'plot -n') kind='nothing' ;;
    'plot --rate'|'plot -p') kind='nothing' ;;
    'plot --memory') kind='nothing' ;;
    'plot --kind') words='blocked classic counting scalable' ;;
    'plot --counter-bits') words='4 8' ;;
    'plot --blocks') kind='nothing' ;;
    'plot --probes') kind='nothing' ;;
    'plot --folds') kind='nothing' ;;
    'plot --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'plot --to') kind='nothing' ;;
    'plot --output'|'plot -o') kind='files' ;;
    'explore --output'|'explore -o') kind='files' ;;
    'explore --page') kind='files' ;;
    'generate --count'|'generate -n') kind='nothing' ;;
    'generate --seed') kind='nothing' ;;
    'generate --progress') words='always never auto' ;;
    'sieve push --memory') kind='nothing' ;;
    'sieve push --sync') words='always never' ;;
    'sieve push --wait') kind='nothing' ;;
    'sieve push --progress') words='always never auto' ;;
    'sieve push --engine') words='disk memory' ;;
    'sieve push --keys'|'sieve push -n') kind='nothing' ;;
    'sieve push --rate'|'sieve push -p') kind='nothing' ;;
    'sieve push --on-full') words='grow stop warn' ;;
    'sieve push --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'sieve push --preset') words='lineage' ;;
    'sieve push --fingerprint-bits') words='48 64' ;;
    'sieve push --partitions') kind='nothing' ;;
    'sieve push --canon') words='url url-query none' ;;
    'sieve push --leases') kind='nothing' ;;
    'sieve push --payload') kind='nothing' ;;
    'sieve push --comment') kind='nothing' ;;
    'sieve push --field'|'sieve push -F') kind='nothing' ;;
    'sieve push --jsonl') kind='nothing' ;;
    'sieve push --delimiter'|'sieve push -d') kind='nothing' ;;
    'sieve pop --count'|'sieve pop -n') kind='nothing' ;;
    'sieve pop --lease') kind='nothing' ;;
    'sieve pop --leases') kind='nothing' ;;
    'sieve pop --max-deliveries') kind='nothing' ;;
    'sieve pop --memory') kind='nothing' ;;
    'sieve pop --sync') words='always never' ;;
    'sieve pop --wait') kind='nothing' ;;
    'sieve ack --lease') kind='nothing' ;;
    'sieve ack --memory') kind='nothing' ;;
    'sieve ack --sync') words='always never' ;;
    'sieve ack --wait') kind='nothing' ;;
    'sieve mark --memory') kind='nothing' ;;
    'sieve mark --sync') words='always never' ;;
    'sieve mark --wait') kind='nothing' ;;
    'sieve mark --progress') words='always never auto' ;;
    'sieve mark --engine') words='disk memory' ;;
    'sieve mark --keys'|'sieve mark -n') kind='nothing' ;;
    'sieve mark --rate'|'sieve mark -p') kind='nothing' ;;
    'sieve mark --on-full') words='grow stop warn' ;;
    'sieve mark --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'sieve mark --preset') words='lineage' ;;
    'sieve mark --fingerprint-bits') words='48 64' ;;
    'sieve mark --partitions') kind='nothing' ;;
    'sieve mark --canon') words='url url-query none' ;;
    'sieve mark --leases') kind='nothing' ;;
    'sieve mark --comment') kind='nothing' ;;
    'sieve mark --field'|'sieve mark -F') kind='nothing' ;;
    'sieve mark --jsonl') kind='nothing' ;;
    'sieve mark --delimiter'|'sieve mark -d') kind='nothing' ;;
    'sieve contains --key'|'sieve contains -k') kind='nothing' ;;
    'sieve contains --memory') kind='nothing' ;;
    'sieve contains --wait') kind='nothing' ;;
    'sieve contains --comment') kind='nothing' ;;
    'sieve contains --field'|'sieve contains -F') kind='nothing' ;;
    'sieve contains --jsonl') kind='nothing' ;;
    'sieve contains --delimiter'|'sieve contains -d') kind='nothing' ;;
    'sieve flush --memory') kind='nothing' ;;
    'sieve flush --sync') words='always never' ;;
    'sieve flush --wait') kind='nothing' ;;
    'sieve status --memory') kind='nothing' ;;
    'sieve status --wait') kind='nothing' ;;
    'sieve import --memory') kind='nothing' ;;
    'sieve import --sync') words='always never' ;;
    'sieve import --wait') kind='nothing' ;;
    'sieve import --progress') words='always never auto' ;;
    'sieve import --engine') words='disk memory' ;;
    'sieve import --keys'|'sieve import -n') kind='nothing' ;;
    'sieve import --rate'|'sieve import -p') kind='nothing' ;;
    'sieve import --on-full') words='grow stop warn' ;;
    'sieve import --dialect') words='guava sha384-slices sieve-murmur3 simple-hash md5-chain clickhouse clickhouse-index dcso parquet redisbloom spark bits-and-blooms libbloom leveldb rocksdb cassandra orc pybloom-live' ;;
    'sieve import --preset') words='lineage' ;;
    'sieve import --fingerprint-bits') words='48 64' ;;
    'sieve import --partitions') kind='nothing' ;;
    'sieve import --canon') words='url url-query none' ;;
    'sieve import --leases') kind='nothing' ;;
    'sieve export --memory') kind='nothing' ;;
    'sieve export --wait') kind='nothing' ;;
    'sieve verify --memory') kind='nothing' ;;
    'sieve verify --wait') kind='nothing' ;;
    'sieve recover --wait') kind='nothing' ;;
    *)
        case "$command $current" in
        'plan -'*) words='--keys --rate --memory --kind --grow-to --counter-bits --blocks --folds --bits-per-key --probes --sieve --table --json --url --page --pushes --key-bytes --cache-hit --disk-speed --fingerprint-bits --partitions --help' ;;
        'build -'*) words='--output --keys --rate --memory --kind --temp --counter-bits --blocks --folds --seed --keyed --secret-file --note --dialect --ours --threads --null --max-line --force --progress --quiet --json --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'add -'*) words='--threads --null --max-line --memory --secret-file --dialect --max-rate --force --progress --quiet --json --keep-bom --text --help' ;;
        'remove -'*) words='--strict --null --max-line --secret-file --progress --quiet --json --keep-bom --text --help' ;;
        'query -'*) words='--filter --invert --count --quiet --line-number --with-input --list-inputs --max-count --output --key --counts --with-filename --threads --null --max-line --progress --verify --secret-file --confirm --dialect --positions --json --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'dedupe -'*) words='--keys --rate --memory --on-full --exact --invert --count --output --against --append --state --keyed --secret-file --threads --null --max-line --progress --quiet --json --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --unit --ngram --threshold --min-words --annotate --no-add --output-dir --checkpoint --dry-run --shard --shard-by --help' ;;
        'merge -'*) words='--output --intersect --check-only --secret-file --dialect --ours --force --quiet --json --help' ;;
        'fold -'*) words='--output --times --memory --force --quiet --json --help' ;;
        'convert -'*) words='--output --kind --from --to --redis-key --note --force --quiet --json --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'dialects -'*) words='--json --help' ;;
        'compare -'*) words='--quiet --dialect --json --help' ;;
        'inspect -'*) words='--verify --measure --seed --canary --secret-file --dialect --progress --json --help' ;;
        'plot -'*) words='--keys --rate --memory --kind --counter-bits --blocks --probes --folds --fill --dialect --to --svg --output --force --json --help' ;;
        'explore -'*) words='--print --output --force --page --help' ;;
        'generate -'*) words='--count --seed --null --progress --help' ;;
        'sieve push -'*) words='--print --requeue --memory --sync --wait --progress --null --quiet --json --engine --keys --rate --on-full --dialect --preset --fingerprint-bits --partitions --ordered --canon --leases --payload --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'sieve pop -'*) words='--count --done --queued --lease --leases --max-deliveries --payload --skip-damaged --null --json --memory --sync --wait --help' ;;
        'sieve ack -'*) words='--return --all --extend --lease --dead --null --quiet --json --memory --sync --wait --help' ;;
        'sieve mark -'*) words='--memory --sync --wait --progress --null --quiet --json --engine --keys --rate --on-full --dialect --preset --fingerprint-bits --partitions --ordered --canon --leases --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'sieve contains -'*) words='--invert --count --quiet --key --flush --null --json --memory --wait --keep-bom --text --crlf --comment --field --header --jsonl --delimiter --csv --trim --lower --upper --hex --int64 --int32 --utf16 --skip-empty --help' ;;
        'sieve flush -'*) words='--memory --sync --wait --quiet --json --help' ;;
        'sieve status -'*) words='--json --memory --wait --help' ;;
        'sieve import -'*) words='--null --memory --sync --wait --progress --quiet --json --engine --keys --rate --on-full --dialect --preset --fingerprint-bits --partitions --ordered --canon --leases --help' ;;
        'sieve export -'*) words='--leased --dead --seen --flush --payload --null --json --memory --wait --help' ;;
        'sieve verify -'*) words='--json --memory --wait --help' ;;
        'sieve recover -'*) words='--quiet --json --wait --help' ;;
        'generate '*) [ "$COMP_CWORD" -ne 2 ] || words='ids urls integers' ;;
        esac
        ;;
    esac
    fi
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    elif [ "$kind" = folders ]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
    elif [ "$kind" = files ]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _bloomery bloomery
