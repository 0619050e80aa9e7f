/* theme.c - one table of colours, and ways down from it. */
#include "app/tui/theme.h"
#include <math.h>

enum { BLACK = 0x000000, WHITE = 0xffffff, READABLE = 4 };

/* A colour in each theme, as 24 bits and as one of the 16 of a palette (-1: the terminal's own, for text). */
static const struct shade { uint32_t rgb[THEMES]; int8_t ansi[THEMES]; } table[HUES] = {
    /*                   dark      light     contrast  colour-blind    d   l   c   b */
    [HUE_TEXT]      = {{0xd8d8d8, 0x202020, 0xffffff, 0xe0e0e0},     {-1, -1, -1, -1}},
    [HUE_DIM]       = {{0x8a8a8a, 0x6a6a6a, 0xc0c0c0, 0x949494},     { 8,  8,  7,  8}},
    [HUE_HEAD]      = {{0xffffff, 0x000000, 0xffffff, 0xffffff},     {15,  0, 15, 15}},
    [HUE_CODE]      = {{0xa8c7e8, 0x274b6d, 0xb0e0ff, 0xb8d4f0},     { 6,  4, 14,  6}},
    [HUE_WARN]      = {{0xf0b429, 0x8a5a00, 0xffe000, 0xf0e442},     { 3,  3, 11, 11}},
    [HUE_ERROR]     = {{0xff6b6b, 0xb3151b, 0xff8a80, 0xe8702a},     { 9,  1,  9,  9}},
    [HUE_OK]        = {{0x6fcf7f, 0x1b6e2c, 0x80ff90, 0x4aa8e8},     { 2,  2, 10, 12}},
    [HUE_KEY]       = {{0x7fd1e0, 0x05606e, 0x80ffff, 0x8fd8f0},     {14,  6, 14, 14}},
    [HUE_USER]      = {{0xffffff, 0x000000, 0xffffff, 0xffffff},     {15,  0, 15, 15}},
    [HUE_SYSTEM]    = {{0xb48ead, 0x7a3b72, 0xe0a0ff, 0x9a6a9a},     { 5,  5, 13,  5}},
    [HUE_PINNED]    = {{0xe5c07b, 0x7d5a10, 0xffe080, 0xf0e442},     { 3,  3, 11, 11}},
    [HUE_SUMMARY]   = {{0x56b6c2, 0x0b6b75, 0x60f0ff, 0x80d8d8},     { 6,  6, 14, 14}},
    [HUE_HISTORY]   = {{0x61a0ef, 0x1f55a5, 0x80b8ff, 0x4a86d8},     { 4,  4, 12,  4}},
    [HUE_TOOL]      = {{0xe08a4f, 0xb05408, 0xffa860, 0xe08a1a},     { 9,  1,  9,  9}},
    [HUE_ANSWER]    = {{0x98c379, 0x3b6e1b, 0xa0ff70, 0x2aa884},     { 2,  2, 10,  2}},
    [HUE_RESERVED]  = {{0x8690a4, 0x5a6478, 0xb0bccc, 0x7a8088},     { 8,  8,  7,  8}},
    [HUE_SHARED]    = {{0xd57fc8, 0x98308a, 0xff90f0, 0xdfa0d0},     {13,  5, 13, 13}},
    [HUE_FREE]      = {{0x6e7681, 0x6e7781, 0xa8a8a8, 0x5c5c5c},     { 8,  8,  8,  8}},
    [HUE_PARKED]    = {{0x9d8cdf, 0x5b46a8, 0xc0b0ff, 0xb8a8ff},     { 5,  5, 13, 13}},
    [HUE_WEIGHTS]   = {{0x7aa2f7, 0x2a4fa0, 0x90b8ff, 0x4a86d8},     {12,  4, 12,  4}},
    [HUE_KV]        = {{0x4fc1a6, 0x0f6b57, 0x60ffd0, 0x2aa884},     { 6,  6, 14,  6}},
    [HUE_WORK]      = {{0xe0af68, 0x85570a, 0xffd080, 0xf0e442},     { 3,  3, 11, 11}},
    [HUE_CONTEXT]   = {{0xc08ae0, 0x7a3aa0, 0xe0a8ff, 0xdfa0d0},     {13,  5, 13, 13}},
    [HUE_OUTSIDE]   = {{0xd0767c, 0x9a3038, 0xff9ca0, 0xd0651a},     { 1,  1,  9,  9}},
    [HUE_AGENT]     = {{0x61afef, 0x1b5fa8, 0x80c0ff, 0x3a78d8},     {12,  4, 12,  4}},
    [HUE_AGENT + 1] = {{0xe5a15b, 0x96520c, 0xffb870, 0xe8952a},     { 3,  3, 11,  9}},
    [HUE_AGENT + 2] = {{0x7ecb7e, 0x25702a, 0x88ff88, 0x1f9e78},     { 2,  2, 10,  2}},
    [HUE_AGENT + 3] = {{0xe07fb0, 0xa52a6a, 0xff90c8, 0xeaa8d8},     {13,  5, 13, 13}},
    [HUE_AGENT + 4] = {{0x4fd0d0, 0x08686c, 0x60ffff, 0x7fd4f4},     { 6,  6, 14, 14}},
    [HUE_AGENT + 5] = {{0xd8d060, 0x6b6300, 0xffff70, 0xf0e442},     {11,  3, 11, 11}},
    [HUE_AGENT + 6] = {{0xb394f0, 0x6a40b0, 0xd0b0ff, 0x9a5f9a},     { 5,  5, 13,  5}},
    [HUE_AGENT + 7] = {{0xf08878, 0xb03a28, 0xff9c8c, 0xc8501a},     { 9,  1,  9,  1}},
};

/* The usual colours of the 16, to judge what is readable on them; terminals differ somewhat. */
static const uint32_t usual[16] = {
    0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
    0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};

static const char *const names[THEMES] = {"dark", "light", "contrast", "colour-blind"};

/* Attributes that stand for colours where there are none. */
static uint8_t mono_attr(unsigned hue)
{
    switch (hue) {
    case HUE_HEAD: case HUE_USER: case HUE_WARN: case HUE_KEY: return LOOK_BOLD;
    case HUE_ERROR: return LOOK_BOLD | LOOK_REVERSE;
    case HUE_CODE: return LOOK_UNDERLINE;
    default: return hue >= HUE_AGENT ? LOOK_BOLD : 0;
    }
}

/* ------------------------------------------------------------------ colours */

static double linear(unsigned v)
{
    double c = (double)v / 255;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t rgb)
{
    return 0.2126 * linear(rgb >> 16 & 0xff) + 0.7152 * linear(rgb >> 8 & 0xff) + 0.0722 * linear(rgb & 0xff);
}

double theme_contrast(uint32_t a, uint32_t b)
{
    double x = luminance(a), y = luminance(b);
    return (MAX(x, y) + 0.05) / (MIN(x, y) + 0.05);
}

static int cube_level(int step) { return step == 0 ? 0 : 55 + 40 * step; }

uint32_t theme_256_rgb(int number)
{
    if (number >= 232) return 0x010101u * (uint32_t)(8 + 10 * (MIN(number, 255) - 232));
    int n = MAX(number, 16) - 16;
    return (uint32_t)(cube_level(n / 36) << 16 | cube_level(n / 6 % 6) << 8 | cube_level(n % 6));
}

static int distance(uint32_t a, uint32_t b)
{
    int red = (int)(a >> 16 & 0xff) - (int)(b >> 16 & 0xff), green = (int)(a >> 8 & 0xff) - (int)(b >> 8 & 0xff);
    int blue = (int)(a & 0xff) - (int)(b & 0xff);
    return 2 * red * red + 4 * green * green + 3 * blue * blue; /* roughly as eyes weigh them */
}

int theme_256_of(uint32_t rgb)
{
    int best = 16;
    for (int n = 17; n < 256; n++) {
        if (distance(rgb, theme_256_rgb(n)) < distance(rgb, theme_256_rgb(best))) best = n;
    }
    return best;
}

/* ------------------------------------------------------------------ inks */

static int32_t colour_of(enum theme theme, enum depth depth, unsigned hue)
{
    const struct shade *s = &table[hue];
    if (depth == DEPTH_RGB) return (int32_t)s->rgb[theme];
    return depth == DEPTH_256 ? theme_256_of(s->rgb[theme]) : s->ansi[theme];
}

static uint32_t rgb_of(enum depth depth, int32_t colour)
{
    if (depth == DEPTH_RGB) return (uint32_t)colour;
    return depth == DEPTH_256 ? theme_256_rgb(colour) : usual[colour & 15];
}

/* What is readable on this ground: the wanted colour, or black or white. */
static int32_t readable(enum depth depth, int32_t wanted, int32_t ground)
{
    uint32_t under = rgb_of(depth, ground);
    if (wanted >= 0 && theme_contrast(rgb_of(depth, wanted), under) >= READABLE) return wanted;
    bool white = theme_contrast(WHITE, under) > theme_contrast(BLACK, under);
    switch (depth) {
    case DEPTH_RGB: return white ? WHITE : BLACK;
    case DEPTH_256: return white ? 231 : 16;
    case DEPTH_16: return white ? 15 : 0;
    default: return white ? 7 : 0;
    }
}

struct ink theme_ink(enum theme theme, enum depth depth, struct look look)
{
    unsigned hue = look.hue < HUES ? look.hue : HUE_TEXT, ground = look.ground < HUES ? look.ground : HUE_TEXT;
    struct ink ink = {-1, -1, look.attr};
    if (depth == DEPTH_MONO) {
        ink.attr |= mono_attr(hue);
        if (ground != HUE_TEXT) ink.attr ^= LOOK_REVERSE;
        return ink;
    }
    if (hue != HUE_TEXT) ink.fore = colour_of(theme, depth, hue);
    if (ground != HUE_TEXT) ink.back = colour_of(theme, depth, ground);
    if (depth == DEPTH_8) {
        if (ink.back == 8) ink.back = 7; /* bright black has no dark one that shows */
        if (ink.back > 8) ink.back -= 8;
        if (ink.fore == 8) ink.fore = -1;
        if (ink.fore > 8) {
            ink.fore -= 8;
            ink.attr |= LOOK_BOLD; /* many terminals show these as bright */
        }
    }
    if (ink.back >= 0) ink.fore = readable(depth, ink.fore, ink.back);
    return ink;
}

/* ------------------------------------------------------------------ names and terminals */

const char *theme_name(enum theme theme) { return names[theme]; }

int theme_find(const char *name)
{
    for (int i = 0; i < THEMES; i++) {
        if (strcmp(name, names[i]) == 0) return i;
    }
    return -1;
}

enum depth theme_depth(int colours, bool rgb, const char *no_color)
{
    if ((no_color && *no_color) || colours < 8) return DEPTH_MONO;
    if (rgb) return DEPTH_RGB;
    return colours >= 256 ? DEPTH_256 : colours >= 16 ? DEPTH_16 : DEPTH_8;
}
