/* test_gguf.c - well-formed GGUF files are read as they were written; the real ones of the shared vectors too.  The
 * broken ones are in test_gguf_hostile.c. */
#include "engine/gguf.h"
#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/gguf_walk.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static struct gguf *opened(struct gguf_make *m, const char *name)
{
    struct err err = {0};
    struct gguf *g = gguf_open(gguf_make_file(m, name), &err);
    CHECK_STR(err.text, "");
    CHECK(g);
    return g;
}

static struct gguf_make begun(void)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    return m;
}

static void raw(struct gguf_make *m, const char *key, enum gguf_type type, uint64_t bits, size_t bytes)
{
    gguf_make_raw_key(m, key, strlen(key), type, &bits, bytes);
}

/* ------------------------------------------------------------------ scalars */

TEST(a_file_without_keys_and_tensors_is_a_file)
{
    struct gguf_make m = begun();
    struct gguf *g = opened(&m, "empty.gguf");
    CHECK_EQ(gguf_n_keys(g), 0);
    CHECK_EQ(gguf_n_tensors(g), 0);
    CHECK_EQ(gguf_version(g), 3);
    CHECK_EQ(gguf_file_bytes(g), 24);
    CHECK(!gguf_has(g, "general.architecture"));
    CHECK(gguf_tensor(g, "output.weight") == NULL);
    CHECK(strstr(gguf_path(g), "/empty.gguf"));
    gguf_close(g);
    gguf_close(NULL);
}

TEST(version_2_is_read_as_version_3_is)
{
    struct gguf_make m = begun();
    m.version = 2;
    gguf_make_str(&m, "general.architecture", "llama");
    gguf_make_tensor(&m, "a", KT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
    struct gguf *g = opened(&m, "v2.gguf");
    float a[3];
    CHECK_EQ(gguf_version(g), 2);
    CHECK_EQ(gguf_read(g, gguf_tensor(g, "a"), 0, a, sizeof a, NULL), 0);
    CHECK_NEAR(a[2], 3, 0);
    gguf_close(g);
}

TEST(an_integer_is_read_from_every_integer_type)
{
    struct gguf_make m = begun();
    static const struct {
        const char *key;
        enum gguf_type type;
        size_t bytes;
        uint64_t value;
    } cases[] = {
        {"u8", GGUF_U8, 1, 255},          {"i8", GGUF_I8, 1, 127},
        {"u16", GGUF_U16, 2, 65535},      {"i16", GGUF_I16, 2, 32767},
        {"u32", GGUF_U32, 4, UINT32_MAX}, {"i32", GGUF_I32, 4, INT32_MAX},
        {"u64", GGUF_U64, 8, UINT64_MAX}, {"i64", GGUF_I64, 8, INT64_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) raw(&m, cases[i].key, cases[i].type, cases[i].value, cases[i].bytes);
    struct gguf *g = opened(&m, "ints.gguf");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t v = 1;
        struct err err = {0};
        CHECK_EQ(gguf_uint(g, cases[i].key, UINT64_MAX, &v, NULL), GGUF_OK);
        CHECK_EQ(v, cases[i].value);
        CHECK_EQ(gguf_uint(g, cases[i].key, cases[i].value, &v, NULL), GGUF_OK);
        v = 77;
        CHECK_EQ(gguf_uint(g, cases[i].key, cases[i].value - 1, &v, &err), GGUF_WRONG);
        CHECK_EQ(v, 77);
        CHECK_EQ(err.code, GGUF_WRONG);
        CHECK(strstr(err.text, "ints.gguf: key \"") && strstr(err.text, "it must be from 0 to "));
    }
    gguf_close(g);
}

TEST(a_negative_integer_is_no_count)
{
    struct gguf_make m = begun();
    raw(&m, "i8", GGUF_I8, 0x80, 1);
    raw(&m, "i16", GGUF_I16, 0xffff, 2);
    raw(&m, "i32", GGUF_I32, 0xffffffff, 4);
    raw(&m, "i64", GGUF_I64, UINT64_MAX, 8);
    struct gguf *g = opened(&m, "negative.gguf");
    static const char *const found[] = {"i8 -128", "i16 -1", "i32 -1", "i64 -1"};
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t v = 77;
        struct err err = {0};
        CHECK_EQ(gguf_uint(g, gguf_key_at(g, i).name, UINT64_MAX, &v, &err), GGUF_WRONG);
        CHECK_EQ(v, 77);
        CHECK(strstr(err.text, found[i]));
    }
    gguf_close(g);
}

TEST(a_float_is_finite_or_wrong)
{
    struct gguf_make m = begun();
    double d = 0.1;
    uint64_t bits;
    memcpy(&bits, &d, 8);
    gguf_make_f32(&m, "f32", 1e-5f);
    raw(&m, "f64", GGUF_F64, bits, 8);
    raw(&m, "nan", GGUF_F32, 0x7fc00000, 4);
    raw(&m, "inf", GGUF_F32, 0xff800000, 4);
    raw(&m, "inf64", GGUF_F64, 0x7ff0000000000000, 8);
    gguf_make_u32(&m, "int", 1);
    struct gguf *g = opened(&m, "floats.gguf");
    double f = 0;
    CHECK_EQ(gguf_float(g, "f32", &f, NULL), GGUF_OK);
    CHECK(f == (double)1e-5f);
    CHECK_EQ(gguf_float(g, "f64", &f, NULL), GGUF_OK);
    CHECK(f == 0.1);
    static const char *const bad[] = {"nan", "inf", "inf64", "int"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = {0};
        CHECK_EQ(gguf_float(g, bad[i], &f, &err), GGUF_WRONG);
        CHECK(strstr(err.text, bad[i]));
        CHECK(f == 0.1);
    }
    gguf_close(g);
}

TEST(a_string_may_hold_any_bytes_and_ends_in_a_zero)
{
    struct gguf_make m = begun();
    struct buf v = {0};
    gguf_make_put_str(&v, "a\0\xff\x1b", 4);
    gguf_make_raw_key(&m, "s", 1, GGUF_STR, v.data, v.len);
    gguf_make_str(&m, "none", "");
    gguf_make_bool(&m, "yes", true);
    gguf_make_bool(&m, "no", false);
    buf_free(&v);
    struct gguf *g = opened(&m, "string.gguf");
    struct gguf_str s;
    bool b = false;
    CHECK_EQ(gguf_string(g, "s", &s, NULL), GGUF_OK);
    CHECK_EQ(s.len, 4);
    CHECK_MEM(s.data, "a\0\xff\x1b", 5);
    CHECK_EQ(gguf_string(g, "none", &s, NULL), GGUF_OK);
    CHECK_EQ(s.len, 0);
    CHECK_STR(s.data, "");
    CHECK_EQ(gguf_bool(g, "yes", &b, NULL), GGUF_OK);
    CHECK(b);
    CHECK_EQ(gguf_bool(g, "no", &b, NULL), GGUF_OK);
    CHECK(!b);
    gguf_close(g);
}

TEST(a_missing_key_leaves_everything_as_it_was)
{
    struct gguf_make m = begun();
    gguf_make_u32(&m, "there", 1);
    struct gguf *g = opened(&m, "missing.gguf");
    struct err err = {.code = 5, .text = "before"};
    uint64_t u = 77, n = 78;
    double f = 79;
    bool b = true;
    struct gguf_str s = {"x", 1};
    const struct gguf_str *ss = &s;
    const float *fs = NULL;
    const int32_t *is = NULL;
    CHECK_EQ(gguf_uint(g, "not", 9, &u, &err), GGUF_MISSING);
    CHECK_EQ(gguf_float(g, "not", &f, &err), GGUF_MISSING);
    CHECK_EQ(gguf_bool(g, "not", &b, &err), GGUF_MISSING);
    CHECK_EQ(gguf_string(g, "not", &s, &err), GGUF_MISSING);
    CHECK_EQ(gguf_string_array(g, "not", &ss, &n, &err), GGUF_MISSING);
    CHECK_EQ(gguf_float_array(g, "not", &fs, &n, &err), GGUF_MISSING);
    CHECK_EQ(gguf_int_array(g, "not", &is, &n, &err), GGUF_MISSING);
    CHECK(u == 77 && n == 78 && f == 79 && b && s.len == 1 && ss == &s && !fs && !is);
    CHECK_EQ(err.code, 5);
    CHECK_STR(err.text, "before");
    gguf_close(g);
}

/* ------------------------------------------------------------------- arrays */

TEST(arrays_are_read_as_written)
{
    struct gguf_make m = begun();
    gguf_make_strs(&m, "strings", (const char *const[]){"<s>", "", "\xe2\x96\x81the"}, 3);
    gguf_make_f32s(&m, "floats", (float[]){-1.5f, 0, 3}, 3);
    gguf_make_i32s(&m, "ints", (int32_t[]){-1, 6}, 2);
    gguf_make_array(&m, "u32s", GGUF_U32, 2, (uint32_t[]){0, INT32_MAX}, 8);
    gguf_make_strs(&m, "none", NULL, 0);
    gguf_make_array(&m, "bools", GGUF_BOOL, 2, "\1", 2);
    struct gguf *g = opened(&m, "arrays.gguf");
    const struct gguf_str *s;
    const float *f;
    const int32_t *v;
    uint64_t n;
    CHECK_EQ(gguf_string_array(g, "strings", &s, &n, NULL), GGUF_OK);
    CHECK_EQ(n, 3);
    CHECK_STR(s[0].data, "<s>");
    CHECK_EQ(s[1].len, 0);
    CHECK_STR(s[2].data, "\xe2\x96\x81the");
    CHECK_EQ(gguf_float_array(g, "floats", &f, &n, NULL), GGUF_OK);
    CHECK(n == 3 && f[0] == -1.5f && f[2] == 3);
    CHECK_EQ(gguf_int_array(g, "ints", &v, &n, NULL), GGUF_OK);
    CHECK(n == 2 && v[0] == -1 && v[1] == 6);
    CHECK_EQ(gguf_int_array(g, "u32s", &v, &n, NULL), GGUF_OK);
    CHECK(n == 2 && v[1] == INT32_MAX);
    CHECK_EQ(gguf_string_array(g, "none", &s, &n, NULL), GGUF_OK);
    CHECK_EQ(n, 0);

    struct gguf_key k = gguf_key_at(g, 0);
    CHECK_STR(k.name, "strings");
    CHECK(k.type == GGUF_ARRAY && k.element == GGUF_STR && k.count == 3);
    k = gguf_key_at(g, 5);
    CHECK(k.type == GGUF_ARRAY && k.element == GGUF_BOOL && k.count == 2);
    gguf_close(g);
}

TEST(a_hundred_thousand_strings_keep_their_order_and_their_bytes)
{
    enum { N = 100000 };
    struct gguf_make m = begun();
    gguf_make_array(&m, "tokens", GGUF_STR, N, "", 0);
    for (unsigned i = 0; i < N; i++) {
        char text[80];
        int len = snprintf(text, sizeof text, "%u%.*s", i * 2654435761u, (int)(i % 60),
                           "------------------------------------------------------------");
        gguf_make_put_str(&m.keys, text, (size_t)len);
    }
    struct gguf *g = opened(&m, "many.gguf");
    const struct gguf_str *s;
    uint64_t n;
    CHECK_EQ(gguf_string_array(g, "tokens", &s, &n, NULL), GGUF_OK);
    CHECK_EQ(n, N);
    for (unsigned i = 0; i < N; i++) {
        CHECK_EQ(strtoul(s[i].data, NULL, 10), i * 2654435761u);
        CHECK_EQ(s[i].len, strspn(s[i].data, "0123456789") + i % 60);
    }
    gguf_close(g);
}

TEST(strings_longer_than_any_buffer_are_read_whole)
{
    struct gguf_make m = begun();
    enum { LONG = 300001 };
    char *text = malloc(LONG + 1);
    CHECK(text);
    for (int i = 0; i < LONG; i++) text[i] = (char)('a' + i % 23);
    text[LONG] = '\0';
    gguf_make_str(&m, "short", "s");
    gguf_make_str(&m, "long", text);
    gguf_make_str(&m, "after", "t");
    gguf_make_strs(&m, "both", (const char *const[]){"u", text, "v"}, 3);
    struct gguf *g = opened(&m, "long.gguf");
    struct gguf_str s;
    const struct gguf_str *list;
    uint64_t n;
    CHECK_EQ(gguf_string(g, "long", &s, NULL), GGUF_OK);
    CHECK_STR(s.data, text);
    CHECK_EQ(gguf_string(g, "after", &s, NULL), GGUF_OK);
    CHECK_STR(s.data, "t");
    CHECK_EQ(gguf_string_array(g, "both", &list, &n, NULL), GGUF_OK);
    CHECK_STR(list[0].data, "u");
    CHECK_STR(list[1].data, text);
    CHECK_STR(list[2].data, "v");
    gguf_close(g);
    free(text);
}

TEST(an_array_of_another_type_is_refused_by_each_getter)
{
    struct gguf_make m = begun();
    static const unsigned char zeros[16];
    static const struct {
        enum gguf_type type;
        size_t bytes;
    } of[] = {
        {GGUF_U8, 1}, {GGUF_I8, 1}, {GGUF_U16, 2}, {GGUF_I16, 2}, {GGUF_U32, 4}, {GGUF_I32, 4}, {GGUF_F32, 4},
        {GGUF_BOOL, 1}, {GGUF_STR, 8}, {GGUF_U64, 8}, {GGUF_I64, 8}, {GGUF_F64, 8},
    };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        char key[16];
        snprintf(key, sizeof key, "a%d", (int)of[i].type);
        gguf_make_array(&m, key, of[i].type, 2, zeros, 2 * of[i].bytes);
    }
    gguf_make_u32(&m, "scalar", 1);
    struct gguf *g = opened(&m, "typed.gguf");
    for (uint64_t i = 0; i < gguf_n_keys(g); i++) {
        struct gguf_key k = gguf_key_at(g, i);
        bool array = k.type == GGUF_ARRAY, is_int = k.element == GGUF_I32 || k.element == GGUF_U32;
        const struct gguf_str *s;
        const float *f;
        const int32_t *v;
        uint64_t n;
        struct err err = {0};
        CHECK_EQ(gguf_string_array(g, k.name, &s, &n, &err), array && k.element == GGUF_STR ? GGUF_OK : GGUF_WRONG);
        CHECK_EQ(gguf_float_array(g, k.name, &f, &n, &err), array && k.element == GGUF_F32 ? GGUF_OK : GGUF_WRONG);
        CHECK_EQ(gguf_int_array(g, k.name, &v, &n, &err), array && is_int ? GGUF_OK : GGUF_WRONG);
        CHECK(strstr(err.text, k.name) && strstr(err.text, "needed"));
    }
    walk(g);
    gguf_close(g);
}

/* ------------------------------------------------------------------ tensors */

TEST(tensors_are_found_and_read_at_any_offset)
{
    struct gguf_make m = begun();
    uint8_t q8[2 * 34], got[2 * 34];
    for (size_t i = 0; i < sizeof q8; i++) q8[i] = (uint8_t)(i * 7 + 1);
    gguf_make_tensor(&m, "blk.0.attn_norm.weight", KT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
    gguf_make_tensor(&m, "blk.0.attn_q.weight", KT_Q8_0, 2, (int64_t[]){32, 2}, q8);
    gguf_make_tensor(&m, "a.4d", KT_F16, 4, (int64_t[]){2, 3, 4, 5}, NULL);
    struct gguf *g = opened(&m, "tensors.gguf");
    CHECK_EQ(gguf_n_tensors(g), 3);
    const struct gguf_tensor *t = gguf_tensor(g, "blk.0.attn_q.weight");
    CHECK(t && t == gguf_tensor_at(g, 1));
    CHECK_EQ(t->type, KT_Q8_0);
    CHECK(t->n_dims == 2 && t->dim[0] == 32 && t->dim[1] == 2 && t->dim[2] == 1 && t->dim[3] == 1);
    CHECK_EQ(t->bytes, sizeof q8);
    CHECK_EQ(t->offset % 32, 0);
    for (size_t from = 0; from <= sizeof q8; from++) {
        CHECK_EQ(gguf_read(g, t, from, got, sizeof q8 - from, NULL), 0);
        CHECK_MEM(got, q8 + from, sizeof q8 - from);
    }
    t = gguf_tensor(g, "a.4d");
    CHECK(t->n_dims == 4 && t->dim[0] == 2 && t->dim[3] == 5 && t->bytes == 240);
    CHECK_EQ(gguf_unchanged(g, NULL), 0);
    gguf_close(g);
}

TEST(every_type_that_has_a_size_is_accepted)
{
    struct gguf_make m = begun();
    uint64_t n = 0;
    for (uint32_t type = 0; type < KT_END; type++) {
        const struct ktype_info *info = ktype_info(type);
        if (!info) continue;
        gguf_make_tensor(&m, info->name, (enum ktype)type, 2, (int64_t[]){info->block, 2}, NULL);
        n++;
    }
    struct gguf *g = opened(&m, "types.gguf");
    CHECK_EQ(gguf_n_tensors(g), n);
    for (uint64_t i = 0; i < n; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        CHECK_STR(t->name, ktype_info((uint32_t)t->type)->name);
        CHECK_EQ(t->bytes, 2 * ktype_info((uint32_t)t->type)->bytes);
    }
    walk(g);
    gguf_close(g);
}

TEST(every_power_of_two_is_an_alignment)
{
    for (uint32_t alignment = 1; alignment <= 65536; alignment *= 2) {
        struct gguf_make m = begun();
        float b[5] = {1, 2, 3, 4, 5}, got[5];
        gguf_make_alignment(&m, alignment);
        gguf_make_tensor(&m, "a", KT_I8, 1, (int64_t[]){3}, "abc");
        gguf_make_tensor(&m, "b", KT_F32, 1, (int64_t[]){5}, b);
        struct gguf *g = opened(&m, "aligned.gguf");
        CHECK_EQ(gguf_tensor(g, "b")->offset % alignment, 0);
        CHECK_EQ(gguf_read(g, gguf_tensor(g, "b"), 0, got, sizeof got, NULL), 0);
        CHECK_MEM(got, b, sizeof b);
        gguf_close(g);
    }
}

TEST(the_last_tensor_needs_no_padding_after_it)
{
    struct gguf_make m = begun();
    gguf_make_tensor(&m, "a", KT_I8, 1, (int64_t[]){3}, "abc");
    struct buf b = gguf_make_bytes(&m);
    struct gguf *g = gguf_open(gguf_make_write("unpadded.gguf", b.data, b.len - 29), NULL);
    buf_free(&b);
    char got[3];
    CHECK(g);
    CHECK_EQ(gguf_read(g, gguf_tensor(g, "a"), 0, got, 3, NULL), 0);
    CHECK_MEM(got, "abc", 3);
    gguf_close(g);
}

TEST(thousands_of_keys_and_tensors_are_each_found)
{
    enum { N = 5000 };
    struct gguf_make m = begun();
    char name[32];
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof name, "k.%u", i * 7919u % N);
        gguf_make_u32(&m, name, i);
        snprintf(name, sizeof name, "t.%u", i * 7919u % N);
        gguf_make_tensor(&m, name, KT_I8, 1, (int64_t[]){1 + i % 40}, NULL);
    }
    struct gguf *g = opened(&m, "thousands.gguf");
    for (unsigned i = 0; i < N; i++) {
        uint64_t v = 0;
        snprintf(name, sizeof name, "k.%u", i * 7919u % N);
        CHECK_EQ(gguf_uint(g, name, N, &v, NULL), GGUF_OK);
        CHECK_EQ(v, i);
        snprintf(name, sizeof name, "t.%u", i * 7919u % N);
        CHECK(gguf_tensor(g, name) == gguf_tensor_at(g, i));
        CHECK_EQ(gguf_tensor(g, name) - gguf_tensor_at(g, 0), i); /* consecutive, as gguf.h says */
    }
    gguf_close(g);
}

/* --------------------------------------------------------------- real files */

/* Opens every *.gguf below folder; their number. */
static int open_all(const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort), n_files = 0;
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char path[2048];
        struct stat st;
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_EQ(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode) && name[0] != '.') n_files += open_all(path);
        if (S_ISREG(st.st_mode) && strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".gguf") == 0) {
            struct gguf *g = gguf_open(path, &err);
            CHECK_STR(err.text, "");
            CHECK(g);
            walk(g);
            gguf_close(g);
            n_files++;
        }
        free(entry[i]);
    }
    free(entry);
    return n_files;
}

TEST(every_real_file_opens)
{
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    CHECK(open_all(vectors) >= 30);
}

TEST(real_files_hold_what_another_reader_finds_in_them)
{
    /* Keys, tensors, tokens, a token, and where the last tensor begins, as the gguf package of PyPI reads them. */
    static const struct {
        const char *file;
        uint64_t keys, tensors, tokens, id;
        const char *token;
        uint64_t last;
    } real[] = {
        {"tokenizers/falcon.gguf", 18, 0, 65024, 48768, "071", 0},
        {"tokenizers/gpt-2.gguf", 16, 0, 50257, 37692, "\xc4\xa0" "DEN", 0},
        {"tokenizers/llama-spm.gguf", 22, 0, 32000, 24000, "\xe2\x96\x81" "engines", 0},
        {"tokenizers/llama3.gguf", 19, 0, 128256, 96192, "\"./", 0},
        {"tokenizers/qwen2.gguf", 21, 0, 151936, 113952, "\xc3\xa6\xc4\xbd\xc2\xbf\xc3\xa6\xc4\xaf\xc2\xa2", 0},
        {"models/stories260K/stories260K-f32-align64.gguf", 27, 47, 512, 384, "\xe2\x96\x81so", 1054272},
        {"models/stories260K/stories260K-peer-Q4_K_M.gguf", 26, 48, 512, 384, "\xe2\x96\x81so", 296704},
        {"models/stories260K-wide/stories260K-wide-Q6_K.gguf", 26, 48, 512, 384, "\xe2\x96\x81so", 1799776},
        {"models/stories260K-qwen2/stories260K-qwen2-F32.gguf", 24, 63, 512, 384, "\xe2\x96\x81so", 1057792},
    };
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    for (size_t i = 0; i < COUNT_OF(real); i++) {
        char path[2048];
        const struct gguf_str *s;
        uint64_t n;
        snprintf(path, sizeof path, "%s/%s", vectors, real[i].file);
        struct gguf *g = gguf_open(path, NULL);
        CHECK(g);
        CHECK_EQ(gguf_n_keys(g), real[i].keys);
        CHECK_EQ(gguf_n_tensors(g), real[i].tensors);
        CHECK_EQ(gguf_string_array(g, "tokenizer.ggml.tokens", &s, &n, NULL), GGUF_OK);
        CHECK_EQ(n, real[i].tokens);
        CHECK_STR(s[real[i].id].data, real[i].token);
        if (real[i].tensors > 0) CHECK_EQ(gguf_tensor_at(g, real[i].tensors - 1)->offset, real[i].last);
        gguf_close(g);
    }
}

CHECK_MAIN
