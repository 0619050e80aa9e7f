# plimsoll: `make run` and `make test` are all that is needed; `make help` lists the rest.
#
# Two halves.  The front half is what a person types: each target calls this file again with VARIANT set.  The back half
# builds one variant in one folder: build/ (release), build/asan, build/tsan, build/fuzz, build/cov, and build/clang
# for another compiler.  A change of flags rebuilds.  tests/setup.sh finds the libraries, and installs what is missing,
# when build/setup-*.mk is not there yet; make re-reads itself after that.
#
# Variables: BUILD=folder  CC=clang  CFLAGS=more  V=1 (show commands)  T=part (tests with it in their name)
#            MODEL=file.gguf and ARGS=... (make run)  ARGS=... (make bench)  FUZZ_SECONDS=600 (make fuzz)
#            SOAK_SECONDS=60 SOAK_TURNS=10000 (make soak)
#            NVCC=nvcc CUDA_ARCH="80 86 89 90 120" (the CUDA kernels, for those that nvcc knows; left out without nvcc)
#            PART=1/3 PACK=gpu-pack RESULTS=folder (make gpu-check)
#            READ=1 (make all, make clang: tests are read for what the compiler says of them, and not built)
#            PREFIX=/usr/local DESTDIR= (make install)  PROGRAM=file (installed as it is; nothing is built)

BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?=
LDFLAGS ?=
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 60
SOAK_TURNS ?= 10000
T ?=
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_ARCH ?= $(filter $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch)),80 86 89 90 120)
PART ?= 1/1
PACK ?= gpu-pack
RESULTS ?= tests/gpu/results
PREFIX ?= /usr/local
DESTDIR ?=
PROGRAM ?=
export BUILD

compiler := $(notdir $(lastword $(CC)))
other    := $(filter-out gcc cc,$(compiler))
comma    := ,
empty    :=
space    := $(empty) $(empty)
# The folder of variant $1: build itself for release with gcc, else build/VARIANT or build/COMPILER or both with a dash.
tag       = $(strip $(if $(filter fuzz,$1),,$(other)) $(filter-out release,$1))
folder    = $(BUILD)$(addprefix /,$(subst $(space),-,$(tag)))

tests    := $(sort $(patsubst tests/%.c,%,$(wildcard tests/test_*.c)))
helpers  := $(filter-out $(tests:%=tests/%.c),$(sort $(wildcard tests/*.c)))
fuzzers  := $(sort $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
benches  := $(sort $(wildcard tests/bench/*.c))
bench_pure := $(patsubst %,tests/bench/%.c,cells chart cost goals keep options plan rows section table)
screens  := tests/bench/screen/main.c
soaks    := $(sort $(wildcard tests/soak/*.c))
evals    := $(sort $(wildcard tests/eval/*.c)) tests/judge.c
needles  := $(sort $(wildcard tests/needle/*.c)) tests/needle_talk.c
program  := $(if $(wildcard app/main.c),program)
machine  := $(shell $(CC) -dumpmachine 2>/dev/null)
x86      := $(filter x86_64% amd64% i386% i486% i586% i686%,$(machine))
# test_kernels_X once more as test_emulated_X, with AVX2 doing what AVX-512 and VNNI do, for machines without those.
# Where the processor has all of it test_kernels_X runs the real kernels, and these, which take minutes, run only if T
# is given.
emulated := $(if $(x86),$(addprefix test_emulated_,attn cpu kv mix))
cpu_has   = $(shell grep -o -w -m 1 '$1' /proc/cpuinfo 2>/dev/null)
real      = $(and $(call cpu_has,avx512_vnni),$(call cpu_has,avx_vnni))
wanted_emulated = $(if $(T),$(emulated),$(if $(real),,$(emulated)))

# Programs that have threads in them, judged by their names; of these the reference vectors judge figures, and the tests
# of admission have one thread, for minutes.
threaded    = $(strip $(foreach word,thread strand engine local sched_random adversarial,$(findstring $(word),$1)))
TSAN_TESTS ?= $(filter-out %_vectors test_local_admitted,$(foreach t,$(tests),$(if $(call threaded,$t),$t)))

ifneq ($(origin VARIANT),command line)
# ------------------------------------------------------------------------------------------------ what a person types

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: all build run test asan tsan clang fuzz fuzz-replay coverage bench soak eval-model eval-needle gpu-check \
    gpu-pack fresh arrows clean help setup-clang setup-test

# As many jobs as cores, unless -j was given; MAKEFLAGS knows that only once recipes run.
cores = $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
again = +@$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(cores))

wanted      = $(if $(T),$(foreach t,$1,$(if $(findstring $(T),$t),$t)),$1)
as_release  = $(addprefix release:$(call folder,release)/tests/,$(call wanted,$(tests) $(wanted_emulated)))
as_asan     = $(addprefix asan:$(call folder,asan)/tests/,$(call wanted,$(tests)))
as_tsan     = $(addprefix tsan:$(call folder,tsan)/tests/,$(call wanted,$(TSAN_TESTS)))
wanted_script = $(addsuffix .sh,$(addprefix script:tests/,$(call wanted,$1)))
as_replay   = $(addprefix replay:$(call folder,asan)/tests/,$(call wanted,$(fuzzers)))

build: ## build build/plimsoll (the default)
	$(again) VARIANT=release STAGE=build program

all: ## build the program, the tests, the fuzz replays and the bench
	$(again) VARIANT=release STAGE=test everything

# The program gets the terminal as a process group of its own (set -m): Ctrl-C is for it, not for make.
run: ## start plimsoll: MODEL=file.gguf make run
	$(again) VARIANT=release STAGE=build program >&2 </dev/null
	@if [ -t 0 ] && [ -t 1 ]; then set -m; fi; \
	$(call folder,release)/plimsoll $${MODEL:+-m "$$MODEL"} $(ARGS)

test: ## all tests: release, ASan+UBSan, TSan (threads), fuzz replay; T=part for some of them
	$(again) VARIANT=release STAGE=test $(program) tests eval-program
	$(again) VARIANT=asan STAGE=test $(program) tests replays
	$(again) VARIANT=tsan STAGE=test tsan-tests
	$(if $(filter-out $(wanted_emulated),$(emulated)),\
	@echo 'left out: test_emulated_* - this processor has what they emulate; T=emulated runs them')
	@bash tests/run.sh $(call wanted_script,arrows train tui) $(as_release) $(as_asan) $(as_replay) $(as_tsan)

asan: ## the tests and the fuzz replay with ASan and UBSan only
	$(again) VARIANT=asan STAGE=test $(program) tests replays
	@bash tests/run.sh $(as_asan) $(as_replay)

tsan: ## the tests of threads with TSan only (TSAN_TESTS)
	$(again) VARIANT=tsan STAGE=test tsan-tests
	@bash tests/run.sh $(as_tsan)

clang: ## compile everything with clang (into build/clang)
	$(again) CC=clang VARIANT=release STAGE=clang everything

fuzz: ## libFuzzer on every tests/fuzz/fuzz_*.c for FUZZ_SECONDS each (needs clang); finds go to build/fuzz/finds
	$(again) CC=clang VARIANT=fuzz STAGE=fuzz fuzzing

fuzz-replay: ## run the fuzz targets once over their corpora, with ASan and UBSan
	$(again) VARIANT=asan STAGE=test replays
	@bash tests/run.sh $(as_replay)

coverage: ## line coverage of the parsers of outside bytes by the fuzz corpora
	$(again) CC=gcc VARIANT=cov STAGE=test cover

# Without ARGS the rows are kept: in tests/bench/SPEED.md, with a chart, if nothing disturbed them.
bench: ## speed and memory beside the peer, the limits and the goals; ARGS=... goes to the bench program instead
	$(again) VARIANT=release STAGE=build program bench-program
	@$(call folder,release)/tests/bench $(or $(ARGS),--keep)
	$(if $(ARGS),,@$(call folder,release)/tests/bench-screen $(call folder,release))

# Tests that CI runs with fewer kills, disks and sessions: PLIMSOLL_FULL is all of them, in about nine minutes of two
# shared cores (the store's two 2, the program killed 3, a crew and damaged files 1, the window's two 3).
in_full = $(addprefix $(call folder,release)/tests/test_,store_durable store_power store_damage cli_durable \
          cli_crew_durable window_random window_texts)
soak: ## the tests of durability and of the window in full; a session of SOAK_TURNS turns; 64 clients for SOAK_SECONDS
	$(again) VARIANT=release STAGE=test program soak-program $(in_full) $(call folder,release)/tests/test_soak_session
	@set -e; export PLIMSOLL_FULL=1 PLIMSOLL_BIN=$(call folder,release)/plimsoll; \
	for t in $(in_full); do echo "$$t"; $$t 2>$(BUILD)/soak.log || { cat $(BUILD)/soak.log; exit 1; }; done
	@PLIMSOLL_SOAK_TURNS=$(SOAK_TURNS) $(call folder,release)/tests/test_soak_session
	@$(call folder,release)/tests/soak $(SOAK_SECONDS)

eval-model: ## judge the embedded model on held-out cases and print the table; ARGS=... goes to the judge
	$(again) VARIANT=release STAGE=build program eval-program
	@sh assets/model/evaluate.sh $(call folder,release) $(ARGS)

eval-needle: ## a fact said 200 turns ago, by summaries, by recall, by both: MODEL=file.gguf, ARGS="dialogues turns ctx"
	$(again) VARIANT=release STAGE=test needle-program
	@$(call folder,release)/tests/needle $(if $(MODEL),$(MODEL),assets/plimsoll-tiny.gguf) $(ARGS)

# Where a GPU is (tests/gpu/README.md).  The pack is made for the GPU that is measured on, unless CUDA_ARCH says other.
for_gpu = CUDA_ARCH="$(if $(filter file,$(origin CUDA_ARCH)),90,$(CUDA_ARCH))" K=$(call folder,release)/device
gpu-check: ## the CUDA kernels on a device, PART=k/n of the checks; out of gpu-pack/, made again for other sources
	+@bash tests/gpu/check.sh '$(PACK)' '$(PART)' '$(RESULTS)' $(MAKE) --no-print-directory gpu-pack

gpu-pack: ## programs, CUDA kernels, libraries and models for gpu-check on a machine without a toolchain, into gpu-pack/
	$(again) VARIANT=release STAGE=test $(for_gpu) gpu-programs
	@sh tests/gpu/pack.sh $(call folder,release) '$(PACK)' '$(NVCC)'

# What is installed beside the program it writes itself, so that all of it is of one version.
.PHONY: install uninstall
root = $(DESTDIR)$(PREFIX)
man  = $(root)/share/man/man1
bash = $(root)/share/bash-completion/completions
zsh  = $(root)/share/zsh/site-functions
install: $(if $(PROGRAM),,build) ## into PREFIX (/usr/local), below DESTDIR: program, CUDA kernels, manual, completion
	@set -e; from='$(or $(PROGRAM),$(call folder,release)/plimsoll)'; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	"$$from" manual >"$$made/man"; "$$from" completion bash >"$$made/bash"; "$$from" completion zsh >"$$made/zsh"; \
	install -d '$(root)/bin' '$(man)' '$(bash)' '$(zsh)'; \
	install -m 755 "$$from" '$(root)/bin/plimsoll'; install -m 644 "$$made/man" '$(man)/plimsoll.1'; \
	install -m 644 "$$made/bash" '$(bash)/plimsoll'; install -m 644 "$$made/zsh" '$(zsh)/_plimsoll'; \
	cuda=$$(dirname "$$from")/plimsoll-cuda.so; if [ -f "$$cuda" ]; then \
		install -d '$(root)/lib/plimsoll'; install -m 755 "$$cuda" '$(root)/lib/plimsoll/plimsoll-cuda.so'; fi; \
	echo 'installed: $(root)/bin/plimsoll, its manual page, completion for bash and zsh'

uninstall: ## take away what make install put there (the same PREFIX and DESTDIR)
	rm -f '$(root)/bin/plimsoll' '$(man)/plimsoll.1' '$(bash)/plimsoll' '$(zsh)/_plimsoll' \
	    '$(root)/lib/plimsoll/plimsoll-cuda.so'

.PHONY: lessons
lessons: ## play every lesson without pauses: how it fails, in which turn, how it ends when it is fixed, seconds
	$(again) VARIANT=release STAGE=build program
	@$(call folder,release)/plimsoll learn --check

fresh: ## prove the two commands in a bare Debian 12 root made by debootstrap (needs root and network)
	@sh tests/fresh/run.sh

arrows: ## check that includes point only downwards
	@sh tests/arrows.sh

clean: ## remove what was built
	rm -rf $(BUILD)

setup-clang:
	$(again) CC=clang VARIANT=release STAGE=clang nothing
setup-test:
	$(again) VARIANT=release STAGE=test nothing

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

else
# --------------------------------------------------------------------------------------------------- one variant built

STAGE ?= build
setup := $(BUILD)/setup-$(STAGE).mk
SETUP_FILES :=
include $(setup)
$(setup): tests/setup.sh $(SETUP_FILES)
	@sh tests/setup.sh $(STAGE) $@
$(SETUP_FILES):

is_gcc := $(filter gcc% cc,$(compiler))
# The C++ compiler of the same make: for the CUDA kernels, which tests compile for the host (tests/cuda_on_cpu/).
cxx    := $(foreach word,$(CC),$(or $(and $(filter gcc,$(word)),g++),$(and $(filter cc,$(word)),c++),\
              $(and $(filter clang,$(word)),clang++),$(word)))

# Of debug information traces show functions and lines, which is -g1: a fifth less time to build.
# What a sanitizer adds to the code makes gcc guess wrongly about what is initialised.
sanitized    := -fno-omit-frame-pointer $(if $(is_gcc),-Wno-maybe-uninitialized)
O            := $(call folder,$(VARIANT))
opt_release  := -O2 -g1
opt_asan     := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all $(sanitized) \
                $(if $(is_gcc),,-D__SANITIZE_ADDRESS__=1)
opt_tsan     := -O1 -g1 -fsanitize=thread $(sanitized)
opt_fuzz     := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all $(sanitized)
opt_cov      := -O0 -g --coverage
opt          := $(opt_$(VARIANT))
$(if $(opt),,$(error VARIANT is release, asan, tsan, fuzz or cov, not "$(VARIANT)"))

# Where the CUDA kernels for devices are built.
K ?= $(O)

# Flags that change what the compiled code does, as --version shows them; then all of them.
facts := $(strip $(opt) -std=gnu17 -ffp-contract=off $(CFLAGS))
flags := $(facts) -Wall -Wextra -Wshadow -Wconversion -Werror -D_GNU_SOURCE -I. -I$(O) $(PKG_CFLAGS) -pthread
libs  := $(PKG_LIBS) -lpthread -lm
# Three hundred test programs are linked by gold where it is, in two thirds of the time; the program is linked as ever.
gold  := $(if $(and $(is_gcc),$(x86),$(shell command -v ld.gold 2>/dev/null)),-fuse-ld=gold)
# The CUDA kernels on the host: fmaf() and halves by the machine's instructions, which have their bits.  UBSan traps as
# in the CPU's kernels; ASan's checks are in place here, since tests gain more by that than it takes to build.
cxx_asan  := $(if $(is_gcc),-fsanitize-undefined-trap-on-error)
# A third less time to build them than with -O2, and they run as fast.
cxx_release := -O1
fma_f16c  := $(if $(and $(x86),$(call cpu_has,fma),$(call cpu_has,f16c)),-mfma -mf16c)
cxx_flags := $(opt) $(cxx_$(VARIANT)) -std=gnu++17 -ffp-contract=off $(fma_f16c) $(CFLAGS) \
             -Wall -Wextra -Wshadow -Wconversion -Werror -I. -Itests/cuda_on_cpu -fPIC \
             $(if $(is_gcc),,$(if $(filter asan fuzz,$(VARIANT)),-fno-sanitize=function))
# Looked at by recipes of the CUDA kernels only: it asks nvcc.
nvcc_flags = -std=c++17 -O3 -Xfatbin=-compress-all -fmad=false -I. -Xcompiler -fPIC,-Wall,-Wextra $(call gencode,$(CUDA_ARCH))
gencode    = $(foreach a,$1,-gencode arch=compute_$a,code=sm_$a) \
             $(foreach a,$(firstword $1),-gencode arch=compute_$a,code=compute_$a)

# Kernels are worth -O3, and -O2 under a sanitizer.  Files named for an instruction set unroll so much that some passes
# of a compiler would take minutes over them: where variables live (gcc's debug information), -O2 with checks, and
# checks written out in place instead of called (ASan).  gcc 12's ASan misaligns wide vectors on its fake stack (for
# use after return), so those files do without it.  UBSan traps there instead of saying what it found: half of the code
# of these files would be its words.  The fuzz targets do not reach kernels.
ifneq ($(x86),)
isa_avx2    := -mavx2 -mfma -mf16c -mbmi2
isa_avxvnni := $(isa_avx2) -mavxvnni
isa_avx512  := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c -mbmi2
endif
# The tests' own code is compiled often and does little: a sanitizer's checks in it take minutes to optimize.
test_release   := -O1
test_asan      := -O0
test_tsan      := -O0
kernel_release := -O3
kernel_asan    := -O2
kernel_tsan    := -O2
kernel_fuzz    := -fno-sanitize=all
kernel_cov     := -O1 -fno-profile-arcs -fno-test-coverage
# Where the compiler is only read, the loops are unrolled all the same: it says so if one cannot be.  Those of AVX-VNNI
# are AVX2's, and the portable ones have no width.
isa_release     = $(if $(READ),$(if $(filter %/isa_avx2.c %/isa_avx512.c,$1),-O1,-O0),-O3)
isa_asan       := -O1 $(if $(is_gcc),-fsanitize-undefined-trap-on-error \
    --param asan-instrumentation-with-call-threshold=0 --param asan-use-after-return=0,\
    -fsanitize-trap=undefined \
    -mllvm -asan-instrumentation-with-call-threshold=0 -fsanitize-address-use-after-return=never)
isa_tsan       := -O1
# Threads do the same in all instruction sets: TSan has one of the wide ones, the other files say that they have none.
ifeq ($(VARIANT),tsan)
isa_avxvnni    :=
isa_avx512     :=
endif
# In CI, whose time is short, what this processor cannot run is compiled for what is said of it, and no more.
ifeq ($(CI)-$(VARIANT),true-release)
isa_avxvnni    += $(if $(call cpu_has,avx_vnni),,-O1)
isa_avx512     += $(if $(call cpu_has,avx512_vnni),,-O1)
endif
# What this processor cannot run no sanitizer sees at work: those files say that they have none, too.
ifeq ($(VARIANT),asan)
isa_avxvnni    := $(if $(call cpu_has,avx_vnni),$(isa_avxvnni))
isa_avx512     := $(if $(call cpu_has,avx512_vnni),$(isa_avx512))
endif
# The portable set calls fmaf(), a third of its tests' time under a sanitizer; the machine's instruction has its bits.
isa_portable_asan := $(if $(call cpu_has,fma),-mfma)
isa_portable_tsan := $(isa_portable_asan)
is_isa          = $(filter %_avx2.c %_avxvnni.c %_avx512.c %/isa_portable.c,$1)
own_flags       = $(if $(filter kernels/%,$1),$(kernel_$(VARIANT))) \
                  $(if $(CFLAGS),,$(if $(filter tests/test_%,$1),$(test_$(VARIANT)))) \
                  $(if $(filter tests/asan/%,$1),-O2 -fno-sanitize=all) \
                  $(if $(is_isa),$(isa_$(VARIANT)) $(if $(is_gcc),-fno-var-tracking)) \
                  $(if $(filter %/isa_portable.c,$1),$(isa_portable_$(VARIANT))) \
                  $(foreach set,avx2 avxvnni avx512,$(if $(filter %_$(set).c,$1),$(isa_$(set))))

tree      = $(if $(wildcard $1),$(sort $(shell find $(wildcard $1) -name '*.c')))
gpu_src  := $(sort $(wildcard kernels/cuda/*.cu))
shim_src := $(gpu_src) $(sort $(wildcard tests/cuda_on_cpu/*.cu))
on_cpu   := $(shim_src) tests/cuda_on_cpu/face.c
lib_src  := $(sort $(wildcard kernels/*.c kernels/cpu/*.c kernels/cuda/*.c)) \
            $(filter-out app/main.c,$(call tree,engine memory tools app))
object    = $(patsubst %.cu,$(O)/obj/%.o,$(patsubst %.c,$(O)/obj/%.o,$1))
lib      := $(O)/libplimsoll.a
main_obj := $(call object,app/main.c)
# gcc's ASan is slow with wide vectors: this makes it less so.
asan_obj := $(if $(filter asan-gcc asan-cc,$(VARIANT)-$(compiler)),$(call object,tests/asan/ranges.c))
# Kernels are seen at work by ASan in the tests of kernels and of the engine, with these and the embedded model.  The
# program, and tests of what stands above the engine or of its books, have those of the release build, or kernels were
# half of their time.
plain_isa := $(if $(filter asan,$(VARIANT)),$(if $(CFLAGS),,$(patsubst %.c,$(call folder,release)/obj/%.o,\
                 $(sort $(wildcard kernels/cpu/isa_*.c)))))
has_plain := $(addprefix $(O)/tests/test_,play soak_session strict strict_turn faults peers_fit \
             naive_local $(addprefix local_,admitted predicted snapshot vectors))
test_bin := $(addprefix $(O)/tests/,$(tests))
emulated_obj := $(addprefix $(O)/emulated/,isa.o isa_avx512.o isa_avxvnni.o)
emulated_bin := $(if $(filter release,$(VARIANT)),$(emulated:%=$(O)/tests/%))
cuda_bin := $(filter $(O)/tests/test_cuda_%,$(test_bin)) # these have the CUDA kernels in them, for the host
cuda_so  := $(if $(filter release-gcc release-cc,$(VARIANT)-$(compiler)),$(if $(NVCC),$(K)/plimsoll-cuda.so))
gpu_bin  := $(addprefix $(O)/gpu/,steps mix sample answers memory fast ids speed device)
# The same kernels with other numbers of threads a block; in CI, whose time is short, one of the two.
sizes    := $(if $(filter true,$(CI)),,half) twice
sized_so := $(if $(filter asan tsan,$(VARIANT)),,$(sizes:%=$(O)/gpu/%/plimsoll-cuda.so))
fuzz_bin := $(addprefix $(O)/tests/,$(fuzzers))

Q   := $(if $(V),,@)
say  = @printf '  %-4s %s%s\n' $1 '$2' '$(if $(filter $(BUILD),$(O)),, ($(notdir $(O))))'

.PHONY: program tests tsan-tests replays fuzzing cover bench-program soak-program eval-program needle-program \
    gpu-programs everything read-tests nothing always plain-isa
.DELETE_ON_ERROR:

nothing: ; @:
program: $(O)/plimsoll $(cuda_so) ; @:
tests: $(test_bin) $(if $(wanted_emulated),$(emulated_bin)) ; @:
tsan-tests: $(addprefix $(O)/tests/,$(TSAN_TESTS)) ; @:
replays: $(if $(filter fuzz,$(VARIANT)),,$(fuzz_bin)) ; @:
bench-program: $(O)/tests/bench $(O)/tests/bench-screen $(O)/tests/slow-sync.so ; @:
soak-program: $(O)/tests/soak ; @:
eval-program: $(O)/tests/eval ; @:
needle-program: $(O)/tests/needle ; @:
gpu-programs: $(gpu_bin) $(O)/plimsoll $(if $(NVCC),$(K)/plimsoll-cuda.so $(K)/counted/plimsoll-cuda.so) ; @:
# The emulated kernels too where they are not run: they have to compile on every machine, by one compiler at least.
everything: $(program) $(if $(READ),read-tests,tests) replays $(if $(benches),bench-program) soak-program \
    eval-program needle-program $(if $(and $(READ),$(wanted_emulated)),,$(if $(emulated_bin),$(emulated_obj))) ; @:

# A file rewritten only when what it says has changed, so that its dependents wait for that alone.
rewrite = mkdir -p $(@D) && cat >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
quoted  = $(shell printf '%s' '$(subst ','\'',$1)' | sed 's/[\\"]/\\&/g')

compiler_version := $(shell $(CC) --version 2>/dev/null | head -n 1)
$(O)/flags: always
	@printf '%s\n' '$(CC) $(compiler_version)' '$(flags) $(LDFLAGS) $(libs)' \
	    '$(test_$(VARIANT)) $(kernel_$(VARIANT)) $(isa_$(VARIANT)) $(isa_portable_$(VARIANT))' \
	    '$(isa_avx2) $(isa_avxvnni) $(isa_avx512)' | { $(rewrite); }
$(O)/objects: always
	@printf '%s\n' $(lib_src) | { $(rewrite); }
$(O)/version.h: always
	@printf '#define %s "%s"\n' \
	    PLIMSOLL_VERSION '$(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)' \
	    PLIMSOLL_COMPILER '$(call quoted,$(compiler_version))' \
	    PLIMSOLL_CFLAGS '$(call quoted,$(facts))' | { $(rewrite); }

$(O)/obj/%.o: %.c $(O)/flags | $(O)/version.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) $(call own_flags,$<) -MMD -MP -c -o $@ $<

# The kernels of AVX-512 and AVX-VNNI as tests/emulated/avx512.h has them.  They are to be right, not fast.
$(O)/emulated/%.o: kernels/cpu/%.c $(O)/flags
	$(call say,CC,$< (emulated))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) -DISA_EMULATED=1 -MMD -MP -c -o $@ $< \
	    $(if $(call is_isa,$<),-O1 -Wno-psabi -include tests/emulated/avx512.h $(isa_avx2))

# What tests alone are made of, read for what the compiler says of it.
read_src := $(tests:%=tests/%.c) $(on_cpu) $(wildcard tests/gpu/*.c) tests/gpu/probe.cu
read-tests: $(read_src:%=$(O)/read/%) ; @:
$(O)/read/%.c: %.c always | $(O)/version.h
	$(call say,READ,$<)
	$(Q)$(CC) $(flags) -fsyntax-only $<
$(O)/read/%.cu: %.cu always
	$(call say,READ,$<)
	$(Q)$(cxx) $(cxx_flags) -fsyntax-only -x c++ $<

$(O)/cxx-flags: always
	@printf '%s\n' '$(cxx) $(cxx_flags)' | { $(rewrite); }
$(O)/obj/%.o: %.cu $(O)/flags $(O)/cxx-flags
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(cxx) $(cxx_flags) -MMD -MP -x c++ -c -o $@ $<

# The CUDA kernels for devices: an object that the program opens when it is asked for them.  The one that tests on a
# device open has in it what counts the calls of CUDA's runtime, and a probe.
$(K)/nvcc-flags: always
	@printf '%s\n' '$(NVCC) $(nvcc_flags)' | { $(rewrite); }
$(K)/cuda/%.o: kernels/cuda/%.cu $(K)/nvcc-flags
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(nvcc_flags) -MMD -MP -c -o $@ $<
$(K)/counted/%.o: tests/gpu/%.cu $(K)/nvcc-flags
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(nvcc_flags) -MMD -MP -c -o $@ $<
wrapped    = $(shell grep -oE '(__wrap_|COUNTED.)(cuda|dl)[A-Za-z]+' tests/gpu/counted.cu | \
             sed 's/^__wrap_//; s/^COUNTED.//' | sort -u)
$(K)/counted/plimsoll-cuda.so: so_flags = $(wrapped:%=-Xlinker --wrap=%) -Xlinker -soname=plimsoll-cuda.so
$(K)/counted/plimsoll-cuda.so: $(patsubst %,$(K)/counted/%.o,counted probe)
$(K)/plimsoll-cuda.so $(K)/counted/plimsoll-cuda.so: $(gpu_src:kernels/%.cu=$(K)/%.o)
	$(call say,LD,$@)
	$(Q)$(NVCC) -shared -cudart static -Xcompiler -static-libstdc++,-static-libgcc -Xlinker --exclude-libs,ALL \
	    $(so_flags) -o $@ $(filter %.o,$^)

$(lib): $(call object,$(lib_src)) $(O)/objects
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $(filter %.o,$^)

# What ASan adds to globals is 350,000 addresses to be filled in by each start of a program, of which tests make
# thousands, unless it is linked for a fixed place: a quarter of that time.
fixed := $(if $(filter asan-gcc asan-cc,$(VARIANT)-$(compiler)),-no-pie)
# $1: libraries or flags of this link beside the common ones.
define link
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) $(LDFLAGS) $(fixed) -o $@ $(filter %.o,$^) $(filter %.a,$^) $1 $(libs)
endef

$(O)/plimsoll $(test_bin) $(fuzz_bin) $(gpu_bin): $(asan_obj)
$(O)/plimsoll $(has_plain): $(plain_isa)
$(plain_isa): plain-isa ;
plain-isa:
	+$(Q)$(MAKE) -s --no-print-directory VARIANT=release STAGE=$(STAGE) $(plain_isa)

$(O)/plimsoll: $(main_obj) $(lib)
	$(call link)
$(test_bin): $(O)/tests/%: $(O)/obj/tests/%.o $(call object,$(helpers)) $(lib)
	$(call link,$(gold) $(TEST_LIBS) $(if $(filter $@,$(cuda_bin)),-lstdc++))
$(emulated_bin): $(emulated_obj) $(call object,$(helpers)) $(lib)
$(emulated_bin): $(O)/tests/test_emulated_%: $(O)/obj/tests/test_kernels_%.o
	$(call link,$(TEST_LIBS))
$(cuda_bin): $(call object,$(on_cpu))
$(O)/tests/test_gpu_check: $(gpu_bin) $(sized_so)
$(O)/tests/test_gpu_load: $(O)/gpu/plimsoll-cuda.so $(O)/gpu/old-face.so
$(filter $(O)/tests/test_bench%,$(test_bin)): $(call object,$(bench_pure))
$(O)/tests/bench: $(call object,$(benches)) $(lib)
	$(if $(benches),,$(error no bench: tests/bench has no C file))
	$(call link)

$(O)/tests/bench-screen: $(call object,$(screens)) $(lib)
	$(call link,-lutil)

$(O)/tests/slow-sync.so: tests/bench/screen/slow_sync.c $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) -shared -fPIC -o $@ $<

# What gpu-check runs: tests that open the object beside them, here one of the kernels for the host.
$(O)/gpu/quant.o: kernels/quant.c $(O)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) -fPIC -MMD -MP -c -o $@ $<
$(O)/gpu/plimsoll-cuda.so: $(call object,$(gpu_src))
$(O)/gpu/plimsoll-cuda.so $(sized_so): $(call object,$(filter-out $(gpu_src),$(shim_src)) tests/gpu/probe.cu) \
    $(O)/gpu/quant.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(cxx) $(opt) -shared -Wl,-soname,plimsoll-cuda.so -o $@ $^
# The same kernels with other numbers of threads a block ($2, of the usual n), in a folder of that name ($1).
define sized
$(O)/gpu/$1/%.o: kernels/cuda/%.cu $(O)/flags $(O)/cxx-flags
	$$(call say,CXX,$$< ($1 the threads))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(cxx) $$(cxx_flags) $$(if $(CFLAGS),,-O1 -g1) '-DGPU_BLOCK(n)=$2' -MMD -MP -x c++ -c -o $$@ $$<
$(O)/gpu/$1/plimsoll-cuda.so: $(gpu_src:kernels/cuda/%.cu=$(O)/gpu/$1/%.o)
endef
$(eval $(call sized,half,((n) / 2)))
$(eval $(call sized,twice,((n) * 2)))
$(O)/gpu/old-face.so: tests/gpu/old_face.c $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) -shared -fPIC -o $@ $<
$(O)/gpu/steps: $(call object,tests/test_cuda_steps.c tests/gpu/apart.c)
$(O)/gpu/mix: $(call object,tests/test_cuda_mix.c tests/gpu/apart.c)
$(O)/gpu/sample: $(call object,tests/test_cuda_sample.c)
$(O)/gpu/answers: $(call object,tests/test_cuda_answers.c)
$(O)/gpu/fast: $(call object,tests/test_cuda_fast.c)
$(O)/gpu/memory: $(call object,tests/test_cuda_memory.c)
$(O)/gpu/ids: $(call object,tests/gpu/ids.c tests/gpu/shape.c)
$(O)/gpu/speed: $(call object,tests/gpu/speed.c tests/gpu/shape.c)
$(O)/gpu/device: $(call object,tests/gpu/device.c)
$(gpu_bin): $(O)/gpu/plimsoll-cuda.so $(call object,$(helpers) tests/gpu/outside.c) $(lib)
	$(call link,$(O)/gpu/plimsoll-cuda.so -Wl$(comma)-rpath$(comma)'$$ORIGIN' $(TEST_LIBS))

$(O)/tests/soak: $(call object,$(soaks) $(helpers)) $(lib)
	$(call link,$(TEST_LIBS))

$(O)/tests/eval: $(call object,$(evals)) $(lib)
	$(call link)

$(O)/tests/needle: $(call object,$(needles)) $(lib)
	$(call link)

# Files that are put into the program as they are (.incbin).
$(call object,memory/forms.c): $(wildcard assets/forms/*)
$(call object,app/session/crew_builtin.c): $(wildcard assets/crews/*)
$(call object,app/embedded.c): assets/plimsoll-tiny.gguf
lessons := $(sort $(wildcard assets/lessons/*.lesson))
$(call object,app/learn/lessons.c): $(O)/lessons.h $(lessons)
$(call object,tests/test_play.c): $(O)/lessons.h
$(O)/lessons.h: always
	@for f in $(lessons); do n=$${f##*/}; printf 'LESSON(%s, "%s")\n' "$${n%%-*}" "$$f"; done | { $(rewrite); }

# A fuzz target is linked to libFuzzer, or to a small main that replays files.
ifeq ($(VARIANT),fuzz)
$(fuzz_bin): $(O)/tests/%: $(O)/obj/tests/fuzz/%.o $(lib)
	$(call link,-fsanitize=fuzzer)
else
$(fuzz_bin): $(O)/tests/%: $(O)/obj/tests/fuzz/%.o $(call object,tests/fuzz/replay.c) $(lib)
	$(call link,$(gold))
endif

fuzz_runs := $(fuzzers:%=run-%)
.PHONY: $(fuzz_runs)
fuzzing: $(fuzz_runs) ; @:
$(fuzz_runs): run-%: $(O)/tests/%
	@sh tests/fuzz/run.sh $< $* $(FUZZ_SECONDS) $(O)

cover: $(fuzz_bin)
	@sh tests/fuzz/coverage.sh $(O) $(fuzzers)

-include $(patsubst %.cu,$(K)/%.d,$(gpu_src:kernels/%=%)) $(patsubst %,$(K)/counted/%.d,counted probe)
-include $(patsubst %.o,%.d,$(call object,$(lib_src) $(on_cpu) app/main.c $(helpers) $(tests:%=tests/%.c) $(benches) $(screens) $(soaks) $(evals) $(needles)) \
    $(call object,$(fuzzers:%=tests/fuzz/%.c) tests/fuzz/replay.c $(wildcard tests/gpu/*.c) tests/gpu/probe.cu) \
    $(O)/gpu/quant.d $(emulated_obj)) $(foreach so,$(sized_so),$(gpu_src:kernels/cuda/%.cu=$(dir $(so))%.d))
endif
