#!/bin/sh
# Fuzzes every target for some seconds (default 60 each) with a stable toolchain; new inputs that
# reach something join the corpus. Usage: run.sh [SECONDS] [TARGET...]
# To keep of a corpus only what covers something by itself, named inputs apart:
#   TARGET -set_cover_merge=1 -use_counters=0 -use_cmp=0 NEW_FOLDER corpus/TARGET
# With SANITIZE=address and RUSTC_BOOTSTRAP=1 (or a nightly toolchain) memory errors are found too.
set -eu
cd "$(dirname "$0")"
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- messages frames wire greeting context
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
	flags="$flags -Cllvm-args=-sanitizer-coverage-$option"
done
[ -z "${SANITIZE:-}" ] || flags="$flags -Zsanitizer=$SANITIZE"
RUSTFLAGS="$flags" cargo build --release --target "$host"
for target in "$@"; do
	echo "== $target"
	mkdir -p "corpus/$target"
	"target/$host/release/$target" "corpus/$target" -max_total_time="$seconds" -max_len=4096 -print_final_stats=1
done
