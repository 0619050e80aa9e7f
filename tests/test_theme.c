/* Themes: readable on their grounds, told apart by all eyes, and brought down to what a terminal has. */
#include "app/tui/theme.h"
#include "tests/check.h"
#include <math.h>

static uint32_t rgb_of(enum theme theme, enum depth depth, unsigned hue)
{
    struct ink ink = theme_ink(theme, depth, (struct look){.hue = (uint8_t)hue});
    return depth == DEPTH_256 ? theme_256_rgb(ink.fore) : (uint32_t)ink.fore;
}

/* ------------------------------------------------------------------ eyes */

static double linear(unsigned v)
{
    double c = (double)v / 255;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

/* CIE L*a*b* (D65) of a colour as eyes see it that have all cones, no red ones, or no green ones (the matrices of
 * Machado, Oliveira and Fernandes 2009, full severity). */
enum eye { EYE_ALL, EYE_NO_RED, EYE_NO_GREEN, EYES };

static void lab(uint32_t rgb, enum eye eye, double out[3])
{
    static const double see[EYES][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
    static const double xyz[3][3] = {{0.4338906, 0.3762350, 0.1898744},   /* / Xn */
                                     {0.2126729, 0.7151522, 0.0721750},
                                     {0.0177578, 0.1094756, 0.8727664}};  /* / Zn */
    double in[3] = {linear(rgb >> 16 & 0xff), linear(rgb >> 8 & 0xff), linear(rgb & 0xff)}, seen[3], f[3];
    for (int i = 0; i < 3; i++) {
        seen[i] = fmin(fmax(see[eye][i][0] * in[0] + see[eye][i][1] * in[1] + see[eye][i][2] * in[2], 0), 1);
    }
    for (int i = 0; i < 3; i++) {
        double t = xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2];
        f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    out[0] = 116 * f[1] - 16;
    out[1] = 500 * (f[0] - f[1]);
    out[2] = 200 * (f[1] - f[2]);
}

static double difference(uint32_t a, uint32_t b, enum eye eye)
{
    double x[3], y[3];
    lab(a, eye, x);
    lab(b, eye, y);
    return sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2));
}

/* What stands side by side and must be told apart. */
static const struct { const char *what; int n; uint8_t hue[9]; } groups[] = {
    {"outcomes", 3, {HUE_OK, HUE_WARN, HUE_ERROR}},
    {"a context", 8, {HUE_SYSTEM, HUE_PINNED, HUE_SUMMARY, HUE_HISTORY, HUE_TOOL, HUE_ANSWER, HUE_RESERVED, HUE_FREE}},
    {"memory", 6, {HUE_WEIGHTS, HUE_KV, HUE_WORK, HUE_CONTEXT, HUE_OUTSIDE, HUE_FREE}},
    {"agents", 8, {HUE_AGENT, HUE_AGENT + 1, HUE_AGENT + 2, HUE_AGENT + 3, HUE_AGENT + 4, HUE_AGENT + 5,
                   HUE_AGENT + 6, HUE_AGENT + 7}}};

static void told_apart(enum theme theme, enum depth depth, enum eye eye, double least)
{
    int close = 0;
    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        for (int i = 0; i < groups[g].n; i++) {
            for (int j = 0; j < i; j++) {
                uint32_t a = rgb_of(theme, depth, groups[g].hue[i]), b = rgb_of(theme, depth, groups[g].hue[j]);
                double d = difference(a, b, eye);
                if (d >= least) continue;
                fprintf(stderr, "%s, %s, eye %d: %d and %d differ by %.1f\n", theme_name(theme), groups[g].what, eye,
                        groups[g].hue[i], groups[g].hue[j], d);
                close++;
            }
        }
    }
    CHECK_EQ(close, 0);
}

TEST(theme_what_stands_side_by_side_is_told_apart)
{
    for (int t = 0; t < THEMES; t++) told_apart((enum theme)t, DEPTH_RGB, EYE_ALL, 9);
    for (int t = 0; t < THEMES; t++) told_apart((enum theme)t, DEPTH_256, EYE_ALL, 6);
}

TEST(theme_colour_blind_is_told_apart_by_eyes_without_red_or_green_cones)
{
    told_apart(THEME_COLOUR_BLIND, DEPTH_RGB, EYE_NO_RED, 9);
    told_apart(THEME_COLOUR_BLIND, DEPTH_RGB, EYE_NO_GREEN, 9);
    told_apart(THEME_COLOUR_BLIND, DEPTH_256, EYE_NO_RED, 6);
    told_apart(THEME_COLOUR_BLIND, DEPTH_256, EYE_NO_GREEN, 6);
}

/* ------------------------------------------------------------------ reading */

TEST(theme_hues_are_readable_on_the_ground_that_their_theme_expects)
{
    for (int t = 0; t < THEMES; t++) {
        uint32_t ground = t == THEME_LIGHT ? 0xffffff : 0x1e1e1e;
        for (int d = DEPTH_256; d <= DEPTH_RGB; d++) {
            double least = (t == THEME_CONTRAST ? 7 : 4.5) - (d == DEPTH_256); /* 256 are too few to hit it */
            if (t == THEME_COLOUR_BLIND) least = 3; /* it tells by lightness, so some are darker */
            for (unsigned h = 1; h < HUES; h++) {
                bool quiet = h == HUE_FREE || h == HUE_RESERVED || h == HUE_DIM;
                double c = theme_contrast(rgb_of((enum theme)t, (enum depth)d, h), ground);
                CHECK(c >= (quiet ? 2.2 : least));
            }
        }
    }
}

TEST(theme_every_glyph_is_readable_on_every_coloured_ground)
{
    for (int t = 0; t < THEMES; t++) {
        for (unsigned i = 0; i < HUES * HUES; i++) {
            struct look look = {.hue = (uint8_t)(i % HUES), .ground = (uint8_t)(i / HUES)};
            struct ink rgb = theme_ink((enum theme)t, DEPTH_RGB, look), p = theme_ink((enum theme)t, DEPTH_256, look);
            if (look.ground == HUE_TEXT) {
                CHECK_EQ(rgb.back, -1);
                continue;
            }
            CHECK(theme_contrast((uint32_t)rgb.fore, (uint32_t)rgb.back) >= 4);
            CHECK(p.fore >= 16 && theme_contrast(theme_256_rgb(p.fore), theme_256_rgb(p.back)) >= 4);
        }
    }
}

TEST(theme_inks_stay_within_what_the_terminal_has)
{
    static const int colours[] = {[DEPTH_8] = 8, [DEPTH_16] = 16, [DEPTH_256] = 256, [DEPTH_RGB] = 1 << 24};
    for (int t = 0; t < THEMES; t++) {
        for (int d = DEPTH_8; d <= DEPTH_RGB; d++) {
            for (unsigned i = 0; i < (HUES + 1) * (HUES + 1); i++) { /* a hue that is none too */
                struct look look = {.hue = (uint8_t)(i % (HUES + 1)), .ground = (uint8_t)(i / (HUES + 1)),
                                    .attr = LOOK_ITALIC};
                struct ink ink = theme_ink((enum theme)t, (enum depth)d, look);
                CHECK(ink.fore >= -1 && ink.fore < colours[d] && ink.back >= -1 && ink.back < colours[d]);
                CHECK(ink.attr & LOOK_ITALIC);
                CHECK(ink.back < 0 || ink.back != ink.fore);
                if (d == DEPTH_256) CHECK((ink.fore < 0 || ink.fore >= 16) && (ink.back < 0 || ink.back >= 16));
            }
        }
    }
}

TEST(theme_plain_text_is_the_terminals_own)
{
    for (int t = 0; t < THEMES; t++) {
        for (int d = DEPTH_MONO; d <= DEPTH_RGB; d++) {
            struct ink ink = theme_ink((enum theme)t, (enum depth)d, (struct look){0});
            CHECK(ink.fore == -1 && ink.back == -1 && ink.attr == 0);
        }
    }
}

TEST(theme_without_colours_attributes_say_what_matters)
{
    for (unsigned h = 0; h < HUES; h++) {
        struct ink ink = theme_ink(THEME_DARK, DEPTH_MONO, (struct look){.hue = (uint8_t)h});
        CHECK(ink.fore == -1 && ink.back == -1);
    }
    CHECK(theme_ink(THEME_DARK, DEPTH_MONO, (struct look){.hue = HUE_ERROR}).attr & LOOK_REVERSE);
    CHECK_EQ(theme_ink(THEME_DARK, DEPTH_MONO, (struct look){.hue = HUE_DIM}).attr, 0);
    CHECK(theme_ink(THEME_DARK, DEPTH_MONO, (struct look){.ground = HUE_KV}).attr & LOOK_REVERSE);
}

/* ------------------------------------------------------------------ palettes and terminals */

TEST(theme_256_colours_are_their_own_nearest)
{
    for (int n = 16; n < 256; n++) CHECK_EQ(theme_256_rgb(theme_256_of(theme_256_rgb(n))), theme_256_rgb(n));
    CHECK_EQ(theme_256_rgb(16), 0);
    CHECK_EQ(theme_256_rgb(231), 0xffffff);
    CHECK_EQ(theme_256_rgb(196), 0xff0000);
    CHECK_EQ(theme_256_rgb(110), 0x87afd7);
    CHECK_EQ(theme_256_rgb(244), 0x808080);
    CHECK_EQ(theme_256_of(0x818181), 244);
    CHECK_EQ(theme_256_of(0x86b0d5), 110);
}

TEST(theme_depth_follows_the_terminal_and_no_color)
{
    CHECK_EQ(theme_depth(-1, false, NULL), DEPTH_MONO);
    CHECK_EQ(theme_depth(8, false, NULL), DEPTH_8);
    CHECK_EQ(theme_depth(16, false, NULL), DEPTH_16);
    CHECK_EQ(theme_depth(88, false, NULL), DEPTH_16);
    CHECK_EQ(theme_depth(256, false, ""), DEPTH_256);
    CHECK_EQ(theme_depth(256, true, NULL), DEPTH_RGB);
    CHECK_EQ(theme_depth(1 << 24, true, "1"), DEPTH_MONO);
}

TEST(theme_contrast_is_that_of_the_guidelines)
{
    CHECK_NEAR(theme_contrast(0, 0xffffff), 21, 1e-9);
    CHECK_NEAR(theme_contrast(0x777777, 0xffffff), 4.48, 0.005);
    CHECK_NEAR(theme_contrast(0xff0000, 0x00ff00), theme_contrast(0x00ff00, 0xff0000), 0);
}

TEST(theme_names_are_found_again)
{
    for (int t = 0; t < THEMES; t++) CHECK_EQ(theme_find(theme_name((enum theme)t)), t);
    CHECK_EQ(theme_find("darker"), -1);
    CHECK_EQ(theme_find(""), -1);
}

CHECK_MAIN
