/* theme.h - from what a cell is about (struct look of surface.h) to colours and attributes of a terminal.
 *
 *     look ──> theme_ink(): the theme's colour, brought down to what the terminal has ──> screen.c
 *
 * The ground of the screen is the terminal's own, and so is the colour of plain text: the dark, the high-contrast
 * and the colour-blind theme expect a dark one, the light theme a light one.  In the colour-blind theme what must be
 * told apart also differs for eyes without red or green cones.  On a coloured ground a glyph whose colour would be hard
 * to read there becomes black or white.  With 16 and 8 colours the terminal's palette is used, by hand-chosen
 * numbers; with none, attributes say what matters most, and panels differ by their glyphs.
 *
 * Pure.  Threads: any. */
#ifndef THEME_H
#define THEME_H
#include "app/tui/surface.h"

enum theme { THEME_DARK, THEME_LIGHT, THEME_CONTRAST, THEME_COLOUR_BLIND, THEMES };
enum depth { DEPTH_MONO, DEPTH_8, DEPTH_16, DEPTH_256, DEPTH_RGB };

struct ink {
    int32_t fore, back; /* -1: the terminal's own; 0xRRGGBB with DEPTH_RGB; else a number of its palette */
    uint8_t attr;       /* LOOK_* */
};

struct ink theme_ink(enum theme theme, enum depth depth, struct look look);

const char *theme_name(enum theme theme);  /* "dark", "light", "contrast", "colour-blind" */
int theme_find(const char *name);          /* -1: there is none of this name */

/* What is used of a terminal that says it has so many colours: none where NO_COLOR (no_color, NULL: not set) says
 * anything. */
enum depth theme_depth(int colours, bool rgb, const char *no_color);

/* The colour of a number from 16 on of the palette of 256, and the number whose colour is nearest to rgb. */
uint32_t theme_256_rgb(int number);
int theme_256_of(uint32_t rgb);

/* (lighter + 0.05) / (darker + 0.05) of their relative luminances (WCAG 2), 1 to 21; text is easy to read from 4.5. */
double theme_contrast(uint32_t a, uint32_t b);
#endif
