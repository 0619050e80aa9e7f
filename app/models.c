/* models.c - finding model files: places, folders, Ollama's manifests; and what is said of a row. */
#include "app/models.h"
#include "app/progress.h"
#include "app/store_cmd.h"
#include "app/tui/bar.h"
#include "engine/hostmem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MAX = 256 << 10, DIGEST = 64 };
static const char ollama[] = "Ollama", here[] = "this folder";

struct finder {
    const struct models_ask *ask;
    struct models *m;
    int entries, place;     /* names of this place so far */
    int rows[MODELS_PLACES]; /* of each */
    bool stop;              /* this place has been seen as far as it is */
    bool late;              /* and so have all */
    size_t base;            /* of path: where what a place gave its folder ends */
    char path[MODELS_PATH]; /* of the folder or file that is looked at */
};

/* ---------------------------------------------------------------- places */

static bool same_place(const struct models_place *a, const struct models_place *b)
{
    if (strcmp(a->what, b->what) != 0) return false;
    return strcmp(a->path, b->path) == 0 || (*a->real && strcmp(a->real, b->real) == 0);
}

/* A folder of dir, n bytes, and what is below it (NULL: nothing); what is not set, or too long, is no place. */
static void add_place(struct models *m, const char *what, const char *dir, size_t n, const char *below)
{
    struct models_place p = {0};
    char real[PATH_MAX];
    if (!dir || n == 0 || m->n_places == MODELS_PLACES) return;
    while (n > 1 && dir[n - 1] == '/') n--;
    int len = snprintf(p.path, sizeof p.path, "%.*s%s%s", (int)MIN(n, sizeof p.path), dir, below ? "/" : "",
                       below ? below : "");
    if (len >= (int)sizeof p.path) return;
    snprintf(p.what, sizeof p.what, "%s", what);
    int fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    p.looked = fd >= 0 ? MODELS_LOOKED : errno == ENOENT || errno == ENOTDIR ? MODELS_ABSENT : MODELS_CLOSED;
    if (fd >= 0) close(fd);
    if (fd >= 0 && realpath(p.path, real) && strlen(real) < sizeof p.real) strcpy(p.real, real);
    for (int i = 0; i < m->n_places; i++)
        if (same_place(&m->place[i], &p)) return;
    m->place[m->n_places++] = p;
}

static const char *variable(const struct models_ask *ask, const char *name)
{
    const char *value = ask->env(name);
    return value ? value : "";
}

static void add_list(struct models *m, const char *what, const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        add_place(m, what, list, n, NULL);
    }
}

static void add_places(const struct models_ask *ask, struct models *m)
{
    char cache[MODELS_PATH] = "";
    const char *home = variable(ask, "HOME"), *own = variable(ask, "OLLAMA_MODELS"),
               *llama = variable(ask, "LLAMA_CACHE"), *hub = variable(ask, "HF_HUB_CACHE"),
               *hub_home = variable(ask, "HF_HOME"), *xdg = variable(ask, "XDG_CACHE_HOME");
    int n = *xdg ? snprintf(cache, sizeof cache, "%s", xdg)
            : *home ? snprintf(cache, sizeof cache, "%s/.cache", home) : 0;
    if (n >= (int)sizeof cache) *cache = '\0';
    add_list(m, "PLIMSOLL_MODELS", variable(ask, "PLIMSOLL_MODELS"));
    add_place(m, ollama, own, strlen(own), NULL);
    add_place(m, ollama, home, strlen(home), ".ollama/models");
    add_place(m, ollama, "/usr/share/ollama", 17, ".ollama/models");
    add_place(m, "LM Studio", home, strlen(home), ".lmstudio/models");
    add_place(m, "LM Studio", cache, strlen(cache), "lm-studio/models");
    add_place(m, "llama.cpp", llama, strlen(llama), NULL);
    add_place(m, "llama.cpp", cache, strlen(cache), "llama.cpp");
    add_place(m, "hub cache", hub, strlen(hub), NULL);
    add_place(m, "hub cache", hub_home, strlen(hub_home), "hub");
    add_place(m, "hub cache", cache, strlen(cache), "huggingface/hub");
    add_place(m, here, ".", 1, NULL);
}

/* Whether a path without links lies in one of the places. */
static bool is_within(const struct models *m, const char *real)
{
    for (int i = 0; i < m->n_places; i++) {
        const char *root = m->place[i].real;
        size_t n = strlen(root);
        if (n > 1 && strncmp(real, root, n) == 0 && real[n] == '/') return true;
    }
    return false;
}

/* ---------------------------------------------------------------- rows */

static bool has_row(struct finder *f, const struct stat *st)
{
    const struct models *m = f->m;
    for (int i = 0; i < m->n; i++) {
        if (m->row[i].inode != (uint64_t)st->st_ino || m->row[i].device != (uint64_t)st->st_dev) continue;
        f->m->n_again++;
        return true;
    }
    return false;
}

/* The next row, or where there is none that of a place which has more than this one: so each gets its share, and what
 * one leaves is the others'.  NULL: this place has its own.  It is nobody's until its place is written. */
static struct models_row *next_row(struct finder *f)
{
    struct models *m = f->m;
    int most = 0, at = m->n;
    for (int i = 1; i < m->n_places; i++)
        if (f->rows[i] > f->rows[most]) most = i;
    if (at < MODELS_MAX) return &m->row[at];
    if (f->rows[most] <= f->rows[f->place] + 1) most = f->place;
    m->place[most].left_out++;
    if (most == f->place) return NULL;
    do at--;
    while (m->row[at].place != most);
    f->rows[most]--;
    __atomic_store_n(&m->row[at].place, MODELS_NOWHERE, __ATOMIC_RELEASE);
    return &m->row[at];
}

/* A row for the file at `path`, or (st NULL) for one that is not opened, because of `why`. */
static void add_row(struct finder *f, const char *path, const char *name, const struct stat *st, const char *why)
{
    struct models *m = f->m;
    struct models_row *r = st && has_row(f, st) ? NULL : next_row(f);
    if (!r) return;
    *r = (struct models_row){.place = MODELS_NOWHERE, .state = st ? MODEL_UNREAD : MODEL_BROKEN};
    snprintf(r->path, sizeof r->path, "%s", path);
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->why, sizeof r->why, "%s", why);
    if (st) {
        r->bytes = (uint64_t)st->st_size;
        r->device = (uint64_t)st->st_dev;
        r->inode = (uint64_t)st->st_ino;
    }
    f->rows[f->place]++;
    __atomic_store_n(&r->place, f->place, __ATOMIC_RELEASE); /* whole, if this process is ended now */
    if (r == &m->row[m->n]) __atomic_store_n(&m->n, m->n + 1, __ATOMIC_RELEASE);
}

/* A link is followed to a regular file of a known place; where else it leads is not our affair. */
static void take_link(struct finder *f, const char *name)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(f->path, real) || lstat(real, &st)) {
        add_row(f, f->path, name, NULL, "a link to a file that is not there");
    } else if (!is_within(f->m, real)) {
        add_row(f, f->path, name, NULL, "a link that leads out of the folders that are looked at; -m opens it");
    } else if (S_ISREG(st.st_mode)) {
        add_row(f, f->path, name, &st, "");
    }
}

static void take_file(struct finder *f, int dir, const char *file)
{
    char name[MODELS_NAME];
    size_t n = strlen(file);
    struct stat st;
    if (n <= 5 || strcasecmp(file + n - 5, ".gguf") != 0 || fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW)) return;
    snprintf(name, sizeof name, "%.*s", (int)MIN(n - 5, sizeof name - 1), file);
    if (S_ISREG(st.st_mode)) add_row(f, f->path, name, &st, "");
    else if (S_ISLNK(st.st_mode)) take_link(f, name);
}

/* ---------------------------------------------------------------- Ollama */

/* "host/namespace/model/tag" as people call it: "model:tag", with what is not the usual before it. */
static void ollama_name(const char *path, char name[MODELS_NAME])
{
    static const char usual[] = "registry.ollama.ai/", library[] = "library/";
    if (strncmp(path, usual, sizeof usual - 1) == 0) {
        path += sizeof usual - 1;
        if (strncmp(path, library, sizeof library - 1) == 0) path += sizeof library - 1;
    }
    snprintf(name, MODELS_NAME, "%s", path);
    char *tag = strrchr(name, '/');
    if (tag) *tag = ':';
}

/* The hex digits of the model's layer, or NULL: a manifest without one, or none at all. */
static const char *model_layer(json_t *manifest)
{
    size_t i;
    json_t *layer;
    json_array_foreach(json_object_get(manifest, "layers"), i, layer) {
        const char *type = json_string_value(json_object_get(layer, "mediaType"));
        const char *digest = json_string_value(json_object_get(layer, "digest"));
        if (!type || strcmp(type, "application/vnd.ollama.image.model") != 0 || !digest) continue;
        if (strncmp(digest, "sha256:", 7) != 0 || strlen(digest) != 7 + DIGEST) return NULL;
        return strspn(digest + 7, "0123456789abcdef") == DIGEST ? digest + 7 : NULL;
    }
    return NULL;
}

static json_t *read_manifest(int dir, const char *file)
{
    struct stat st;
    json_t *manifest = NULL;
    int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    char *text = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? malloc(MANIFEST_MAX) : NULL;
    ssize_t n = text ? read(fd, text, MANIFEST_MAX) : 0;
    if (n > 0 && n < MANIFEST_MAX) manifest = json_loadb(text, (size_t)n, 0, NULL);
    free(text);
    if (fd >= 0) close(fd);
    return manifest;
}

static void take_manifest(struct finder *f, int dir, const char *file)
{
    char name[MODELS_NAME], path[MODELS_PATH];
    struct stat st;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) return;
    json_t *manifest = read_manifest(dir, file);
    const char *digest = model_layer(manifest);
    ollama_name(f->path + f->base + 1, name);
    int n = digest ? snprintf(path, sizeof path, "%s/blobs/sha256-%s", f->m->place[f->place].path, digest) : -1;
    if (n > 0 && n < (int)sizeof path) {
        if (lstat(path, &st)) add_row(f, path, name, NULL, "its manifest names a file that is not there");
        else if (S_ISREG(st.st_mode)) add_row(f, path, name, &st, "");
    }
    json_decref(manifest);
}

/* ---------------------------------------------------------------- folders */

static void walk(struct finder *f, int dir, int depth);

static bool is_folder(int dir, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A name in a folder; f->path has the folder, n bytes. */
static void take(struct finder *f, int dir, const struct dirent *e, size_t n, int depth)
{
    const struct models_place *p = &f->m->place[f->place];
    int len = snprintf(f->path + n, sizeof f->path - n, "/%s", e->d_name);
    if (len >= (int)(sizeof f->path - n)) return; /* no path that -m could be given by hand */
    if (is_folder(dir, e)) {
        bool below = strcmp(p->what, here) != 0 && e->d_name[0] != '.' && depth < MODELS_DEPTH;
        int fd = below ? openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
        if (fd >= 0) walk(f, fd, depth + 1);
    } else if (strcmp(p->what, ollama) == 0) {
        take_manifest(f, dir, e->d_name);
    } else {
        take_file(f, dir, e->d_name);
    }
}

/* All of a folder; the descriptor is closed. */
static void walk(struct finder *f, int dir, int depth)
{
    const struct dirent *e;
    size_t n = strlen(f->path);
    DIR *d = fdopendir(dir);
    if (!d) close(dir);
    while (d && !f->stop && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        f->late = progress_clock() >= f->ask->end;
        f->stop = f->late || ++f->entries > MODELS_NAMES;
        if (!f->stop) take(f, dir, e, n, depth);
    }
    f->path[n] = '\0';
    if (d) closedir(d);
}

static int row_order(const void *a, const void *b)
{
    const struct models_row *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    int order = strcasecmp(x->name, y->name);
    return order ? order : strcmp(x->path, y->path);
}

static void look_through(struct finder *f, struct models_place *p)
{
    int n = snprintf(f->path, sizeof f->path, "%s%s", p->path, strcmp(p->what, ollama) == 0 ? "/manifests" : "");
    int fd = n < (int)sizeof f->path ? open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK) : -1;
    f->base = (size_t)n;
    f->entries = 0;
    f->stop = f->late;
    if (fd >= 0) walk(f, fd, 1);
    if (f->stop) p->looked = f->late && f->entries == 0 ? MODELS_UNSEEN : MODELS_IN_PART;
}

/* Which limit was met, and where most; the places have the rest. */
static void say_limits(const struct finder *f)
{
    struct models *m = f->m;
    const struct models_place *most = &m->place[0], *part = NULL;
    int left_out = 0;
    for (const struct models_place *p = m->place; p < m->place + m->n_places; p++) {
        left_out += p->left_out;
        if (p->left_out > most->left_out) most = p;
        if (p->looked == MODELS_IN_PART && !part) part = p;
    }
    if (left_out > 0)
        snprintf(m->stopped, sizeof m->stopped, "there are more than %d files, and %d are left out, %s of %s",
                 MODELS_MAX, left_out, most->left_out == left_out ? "all" : "most", most->what);
    else if (f->late)
        snprintf(m->stopped, sizeof m->stopped, "time was over while folders were looked through");
    else if (part)
        snprintf(m->stopped, sizeof m->stopped, "there are more than %d names to look at in %s", MODELS_NAMES,
                 part->what);
}

void models_find(const struct models_ask *ask, struct models *m)
{
    struct finder f = {.ask = ask, .m = m};
    m->within = ask->within ? ask->within : hostmem_available();
    add_places(ask, m);
    for (f.place = 0; f.place < m->n_places; f.place++)
        if (m->place[f.place].looked == MODELS_LOOKED) look_through(&f, &m->place[f.place]);
    say_limits(&f);
    qsort(m->row, (size_t)m->n, sizeof *m->row, row_order);
    m->found = true;
}

/* ---------------------------------------------------------------- words */

const char *models_state_name(enum model_state s)
{
    static const char *const name[MODEL_STATES] = {"not_read", "fits", "too_large", "not_supported", "split", "broken"};
    return name[s];
}

void models_verdict(const struct models_row *r, uint64_t within, char *out, size_t n)
{
    char number[FIGURE];
    switch (r->state) {
    case MODEL_FITS:
        snprintf(out, n, "%s, context up to %s", within == UINT64_MAX ? "may fit" : "fits",
                 figure(number, (uint64_t)r->ctx_fits));
        break;
    case MODEL_TOO_LARGE:
        snprintf(out, n, "needs %s of %s", store_cmd_size(r->needs_least).text, store_cmd_size(within).text);
        break;
    default:
        snprintf(out, n, "%s", *r->why ? r->why : *r->arch ? "time was over" : "not looked into");
    }
}

/* In one word of a shell. */
void models_put_quoted(const char *path, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+,@%=";
    if (*path && !path[strspn(path, plain)]) {
        buf_puts(out, path);
        return;
    }
    buf_puts(out, "'");
    for (const char *c = path; *c; c++)
        if (*c == '\'') buf_puts(out, "'\\''");
        else buf_put(out, c, 1);
    buf_puts(out, "'");
}

/* A session takes half of what is free, unless it is told to take more. */
void models_command(const struct models_row *r, uint64_t within, struct buf *out)
{
    if (r->state != MODEL_FITS) return;
    buf_puts(out, "plimsoll -m ");
    models_put_quoted(r->path, out);
    if (r->ctx_fits < r->ctx_usual) buf_puts(out, " --fit");
    if (within != UINT64_MAX && r->needs_usual > within / 2) buf_puts(out, " --vram 100%");
}

const char *models_count(uint64_t n, char out[MODELS_COUNT])
{
    static const char unit[] = " KMBT";
    double x = (double)n;
    int u = 0;
    for (; x >= 999.5 && unit[u + 1]; u++) x /= 1000;
    *out = '\0';
    if (n < 1000 && n > 0) snprintf(out, MODELS_COUNT, "%.0f", x);
    else if (n > 0) snprintf(out, MODELS_COUNT, x >= 99.5 ? "%.0f %c" : "%.1f %c", x, unit[u]);
    return out;
}

const char *models_place_words(const struct models_place *p, char out[MODELS_WORDS])
{
    static const char *const word[] = {"not there", "no model in it", "may not be read", "seen in part",
                                       "not looked at"};
    if (p->left_out > 0) snprintf(out, MODELS_WORDS, "%d left out", p->left_out);
    else snprintf(out, MODELS_WORDS, "%s", word[p->looked]);
    return out;
}

void models_summary(const struct models *m, struct buf *out)
{
    uint64_t bytes = 0;
    int fit = 0;
    for (int i = 0; i < m->n; i++) {
        if (size_add(bytes, m->row[i].bytes, &bytes)) bytes = UINT64_MAX;
        fit += m->row[i].state == MODEL_FITS;
    }
    if (m->n == 0) buf_puts(out, "No model file was found");
    else buf_printf(out, "%d model file%s, %s; ", m->n, m->n == 1 ? "" : "s", store_cmd_size(bytes).text);
    if (m->n > 0 && m->within == UINT64_MAX) buf_puts(out, "the system does not say how much memory is free");
    else if (m->n > 0) buf_printf(out, "%d of them fit%s in %s of memory", fit, fit == 1 ? "s" : "",
                                  store_cmd_size(m->within).text);
}
