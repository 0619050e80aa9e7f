/* models_rig.h - a home folder made up, with model files where people's programs leave them.  Header only. */
#ifndef MODELS_RIG_H
#define MODELS_RIG_H
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <sys/stat.h>
#include <unistd.h>

#ifndef RIG
#define RIG static __attribute__((unused))
#endif

RIG char home[600]; /* of the test that runs */

/* A new home, and an empty folder to be in. */
static inline void new_home(void)
{
    snprintf(home, sizeof home, "%s", check_tmpdir());
    CHECK_EQ(chdir(check_tmpdir()), 0);
}

static inline const char *at_home(const char *name)
{
    static char path[4][2000];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", home, name);
    return path[i];
}

/* The path of a file in home, whose folders are made. */
static inline const char *make_way(const char *name)
{
    const char *path = at_home(name);
    char folder[2000];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + strlen(home) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    return path;
}

static inline const char *put_bytes(const char *name, const void *bytes, size_t n)
{
    const char *path = make_way(name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    return path;
}

static inline const char *put_text(const char *name, const char *text) { return put_bytes(name, text, strlen(text)); }

static inline void put_link(const char *name, const char *to) { CHECK_EQ(symlink(to, make_way(name)), 0); }

/* A model of a few layers. */
static inline const char *put_model(const char *name, const struct tiny *t)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, t);
    struct buf b = gguf_make_bytes(&m);
    const char *path = put_bytes(name, b.data, b.len);
    buf_free(&b);
    return path;
}

/* A file with keys and no tensors. */
static inline void put_keys(const char *name, void (*keys)(struct gguf_make *g))
{
    struct gguf_make g;
    gguf_make_begin(&g);
    keys(&g);
    struct buf b = gguf_make_bytes(&g);
    put_bytes(name, b.data, b.len);
    buf_free(&b);
}

static inline void other_arch(struct gguf_make *g)
{
    gguf_make_str(g, "general.architecture", "mamba\033[2J");
    gguf_make_u32(g, "mamba.context_length", 77);
}

#define HEX8(c) c c c c c c c c
#define DIGEST_A HEX8("aaaaaaaa")
#define DIGEST_B HEX8("bbbbbbbb")
#define MANIFEST(digest) \
    "{\"schemaVersion\":2,\"layers\":[" \
    "{\"mediaType\":\"application/vnd.ollama.image.license\",\"digest\":\"sha256:1\"}," \
    "{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" digest "\",\"size\":1}]}"

/* One of each place: six files, one of which two links lead to. */
static inline void fill_home(void)
{
    struct tiny t = TINY_LLAMA, q = {.arch = "qwen2", .layers = 1, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                     .type = KT_Q8_0, .seed = 2};
    put_text(".ollama/models/manifests/registry.ollama.ai/library/tiny/3b", MANIFEST(DIGEST_A));
    put_text(".ollama/models/manifests/hf.co/bob/other/Q8_0", MANIFEST(DIGEST_B));
    put_model(".ollama/models/blobs/sha256-" DIGEST_A, &t);
    put_model(".ollama/models/blobs/sha256-" DIGEST_B, &q);
    put_model(".lmstudio/models/ann/tiny-GGUF/tiny-f32.gguf", &t);
    put_model(".cache/llama.cpp/ann_tiny.GGUF", &t);
    put_model(".cache/huggingface/hub/models--ann--tiny/blobs/0123", &t);
    put_link(".cache/huggingface/hub/models--ann--tiny/snapshots/77/hub.gguf", "../../blobs/0123");
    put_link(".cache/huggingface/hub/models--ann--tiny/snapshots/88/hub.gguf", "../../blobs/0123");
    put_model("mine/deep/er/own.gguf", &q);
}

/* The environment that is looked in. */
RIG const char *own_folders, *cache, *hub; /* PLIMSOLL_MODELS, XDG_CACHE_HOME, HF_HUB_CACHE */

static inline const char *env(const char *name)
{
    if (strcmp(name, "HOME") == 0) return home;
    if (strcmp(name, "PLIMSOLL_MODELS") == 0) return own_folders;
    if (strcmp(name, "XDG_CACHE_HOME") == 0) return cache;
    if (strcmp(name, "HF_HUB_CACHE") == 0) return hub;
    return NULL;
}

/* The folder that own_folders may name. */
static inline const char *mine(void)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/mine", home);
    return path;
}
#endif
