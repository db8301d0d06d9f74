/* plot.h - figures for papers and terminals: panels of lines, points and
 * fields, written as SVG, PNG or text.
 *
 * Needs: libc, libm, libpng; nothing else of Atled. Guarantees: no global
 * state; every failure is a PlotStatus with a text in figure_error; no input
 * makes it crash or hang. NaN and infinite samples are gaps in lines and grey
 * in fields. A file appears complete or not at all. Numbers are written the
 * same in every locale.
 *
 * Use: make a Figure with a grid of panels, add series and fields to panels,
 * write it as often as wanted, free it. Data arrays are borrowed: they must
 * live, unchanged, until the last write. Texts are copied. Panels are counted
 * row by row from 0.
 *
 * Texts are UTF-8. "^{...}" and "_{...}" raise and lower what they enclose, as
 * in "10^{-3}" and "u_{xx}"; a bare ^ or _ is itself. Of a longer text the
 * first 1000 characters are taken.
 */
#ifndef ATLED_REPL_PLOT_PLOT_H
#define ATLED_REPL_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PlotStatus {
	PLOT_OK = 0,
	/* a NULL, a size or an index that cannot be; lengths or limits that do
	 * not fit */
	PLOT_BAD_ARGUMENT,
	/* field coordinates that do not rise or fall strictly, an axis that
	 * cannot show its limits */
	PLOT_BAD_DATA,
	PLOT_TOO_SMALL, /* the picture has no room for its panels */
	PLOT_NO_MEMORY,
	PLOT_IO_ERROR /* the file could not be written; nothing was left behind */
} PlotStatus;

/* resize(ud, p, old, new): new == 0 frees; p == NULL allocates; returns NULL on
 * failure and then leaves p alone. */
typedef struct PlotAllocator {
	void *(*resize)(void *ud, void *p, size_t old_bytes, size_t new_bytes);
	void *ud;
} PlotAllocator;

typedef void (*PlotSink)(void *ud, const char *text, size_t n);

typedef struct Figure Figure;

typedef enum PlotAxis {
	PLOT_X,
	PLOT_Y,
	PLOT_Z, /* the colours of a field */
	/* at the right of a flat plot: of the layers that
	                     * say so */
	PLOT_Y2
} PlotAxis;
typedef enum PlotScale { PLOT_LINEAR, PLOT_LOG } PlotScale;

typedef enum PlotDash {
	PLOT_DASH_AUTO,
	PLOT_SOLID,
	PLOT_DASHED,
	PLOT_DOTTED,
	PLOT_DASH_DOT,
	PLOT_NO_LINE
} PlotDash;

typedef enum PlotMarker {
	PLOT_MARKER_NONE,
	PLOT_MARKER_CIRCLE,
	PLOT_MARKER_SQUARE,
	PLOT_MARKER_DIAMOND,
	PLOT_MARKER_UP,
	PLOT_MARKER_DOWN,
	PLOT_MARKER_PLUS,
	PLOT_MARKER_CROSS,
	PLOT_MARKER_AUTO /* the series' number in its panel chooses */
} PlotMarker;

typedef enum PlotLegend {
	PLOT_LEGEND_AUTO, /* the emptiest corner, or beside the panel where every corner is busy */
	PLOT_LEGEND_NONE,
	PLOT_LEGEND_TOP_LEFT,
	PLOT_LEGEND_TOP_RIGHT,
	PLOT_LEGEND_BOTTOM_LEFT,
	PLOT_LEGEND_BOTTOM_RIGHT,
	PLOT_LEGEND_OUTSIDE
} PlotLegend;

typedef enum PlotMap {
	/* diverging where the field has both signs to a like degree, sequential
	 * elsewhere */
	PLOT_MAP_AUTO,
	PLOT_MAP_SEQUENTIAL, /* dark violet over green to yellow, even in lightness */
	PLOT_MAP_DIVERGING,  /* blue over white to red, white at 0 unless limits are set */
	PLOT_MAP_GREY,
	PLOT_MAP_WARM,  /* black over violet and orange to pale yellow, even in lightness */
	PLOT_MAP_CYCLIC /* for angles and phases: both ends are the same colour */
} PlotMap;

#define PLOT_COLOUR_AUTO (-1) /* the series' number in its panel chooses */
#define PLOT_COLOURS 8        /* colours 0 .. 7; larger numbers wrap around */
/* a colour of its own */
#define PLOT_RGB(r, g, b) (0x1000000 | (int)(r) << 16 | (int)(g) << 8 | (int)(b))

/* n samples (x[i*x_step], y[i*y_step]). x == NULL: 0, 1, 2... A step of 0 means
 * 1. n == 0 draws nothing. */
typedef struct PlotSeries {
	const double *x, *y;
	size_t n;
	ptrdiff_t x_step, y_step;
	const char *label; /* NULL: not in the legend */
	int colour;        /* an index, or PLOT_COLOUR_AUTO */
	PlotDash dash;
	PlotMarker marker;
	double width;   /* of the line or of the marker, in units of 1/96 inch; 0: the usual */
	double opacity; /* up to 1; 0: the usual */
} PlotSeries;

/* nx*ny samples z[i*x_step + j*y_step] at (x[i], y[j]). x or y NULL: 0, 1, 2...
 * Both steps 0: row-major, (ny, 1). For u[nt][nx] over x and t: x = positions,
 * y = times, x_step = 1, y_step = nx. */
typedef struct PlotField {
	const double *x, *y, *z;
	size_t nx, ny;
	ptrdiff_t x_step, y_step;
	PlotMap map;
	/* draw each sample as a flat cell around its point; else interpolate
	 * between points */
	bool cells;
} PlotField;

/* What a layer draws, and which of the fields of PlotLayer say how. `s` has the
 * samples (without steps), the label and the look of all of them. */
typedef enum PlotKind {
	PLOT_LINE,    /* joined samples; markers if asked for */
	PLOT_SCATTER, /* markers only. c: values shown by colour */
	PLOT_BAND,    /* the area between y and a over x; sideways: between x and a over y */
	/* from a (NULL: base) to y at x, b wide (NULL: by the distances);
	 * sideways: from a to x at y */
	PLOT_BARS,
	PLOT_ERRORS, /* a below and b above y, c left and d right of x; each may be NULL */
	PLOT_STEMS,  /* a thin line from base to each marker */
	/* x NULL: lines across the plot at y; y NULL: lines down it at x. a:
	 * areas from there to a */
	PLOT_RULES,
	/* (a, b) at (x, y), or grid and w at its points; scale: units of data a
	 * unit of length, 0: fitting */
	PLOT_ARROWS,
	PLOT_FLOW, /* lines along the vectors of grid and w; scale: how dense, 0: 1 */
	/* of grid at the levels; filled: the areas between them; labelled:
	 * numbers on the lines */
	PLOT_CONTOURS,
	/* text at (x, y), at an anchor -1, 0, 1 of x; a: an arrow from the text
	 * to (a, b) */
	PLOT_TEXT,
	PLOT_POLYGON, /* the area inside of the samples */
	/* grid as heights over x and y. A panel with one of these three is drawn
	 * in perspective */
	PLOT_SURFACE,
	PLOT_LINE_3D, /* joined samples (x, y, a) */
	PLOT_SCATTER_3D
} PlotKind;

typedef struct PlotLayer {
	PlotKind kind;
	PlotSeries s;
	const double *a, *b, *c, *d; /* s.n of each */
	double base, scale;
	bool sideways, filled, labelled, mesh;
	bool right; /* y is measured by the axis at the right */
	PlotField grid;
	const double *w; /* the second component, laid out like grid.z */
	const double *levels;
	size_t nlevels; /* 0: round numbers */
	const char *text;
	int anchor;
} PlotLayer;

/* ---- building ------------------------------------------------------------ */

/* rows and cols from 1 to 16. alloc NULL: malloc. NULL when the size is wrong
 * or memory fails. */
Figure *figure_new(const PlotAllocator *alloc, int rows, int cols);
void figure_free(Figure *f); /* NULL is allowed */

/* Why the last failing call on this figure failed; "" if none did. Valid until
 * the next call. */
const char *figure_error(const Figure *f);

PlotStatus figure_title(Figure *f, const char *text);

/* The natural size in units of 1/96 inch, text being about 11 of them high: 80
 * .. 10000. Unset: by the grid. */
PlotStatus figure_size(Figure *f, double width, double height);

PlotStatus panel_title(Figure *f, int panel, const char *text);
PlotStatus panel_label(Figure *f, int panel, PlotAxis axis, const char *text);
PlotStatus panel_scale(Figure *f, int panel, PlotAxis axis, PlotScale scale);
/* low > high turns the axis around. */
PlotStatus panel_limits(Figure *f, int panel, PlotAxis axis, double low, double high);
PlotStatus panel_legend(Figure *f, int panel, PlotLegend where);
PlotStatus panel_grid(Figure *f, int panel, bool on); /* faint lines at the ticks; off at first */
/* Length of a unit of y over that of a unit of x, as drawn; 0: the plot fills
 * its place. */
PlotStatus panel_aspect(Figure *f, int panel, double ratio);
/* Marks of an axis but z at these places only, with these texts. */
PlotStatus panel_ticks(Figure *f, int panel, PlotAxis axis, size_t n, const double *at,
                       const char *const *texts);
/* Where the eye stands, in degrees: around the z axis and above the x-y plane.
 */
PlotStatus panel_view(Figure *f, int panel, double azimuth, double elevation);
PlotStatus panel_map(Figure *f, int panel, PlotMap map); /* of everything that is shown by colour */

/* joined samples; markers if asked for */
PlotStatus panel_line(Figure *f, int panel, const PlotSeries *s);
PlotStatus panel_scatter(Figure *f, int panel, const PlotSeries *s); /* markers only */
/* one per panel, under its lines */
PlotStatus panel_field(Figure *f, int panel, const PlotField *z);
/* any kind; later layers lie over earlier ones */
PlotStatus panel_layer(Figure *f, int panel, const PlotLayer *layer);

/* ---- writing ------------------------------------------------------------- */

PlotStatus figure_write_svg(Figure *f, const char *path);

/* width and height in pixels, 16 .. 16384 each; both 0: twice the natural size.
 * The picture is laid out for their ratio, and its text grows with the number
 * of pixels. */
PlotStatus figure_write_png(Figure *f, const char *path, int width, int height);

/* Whether the axes can show the data and the limits that have been set: what
 * the writers would say. */
PlotStatus figure_check(Figure *f);

/* The same with so many pixels an inch; text is as large in the picture as it
 * is on paper. */
PlotStatus figure_write_png_dpi(Figure *f, const char *path, double dpi);

/* A film of figures, one after another, into an animated PNG or, with gif, a
 * GIF. Each frame is drawn and written when it is given; all have the size of
 * the first. The file appears under its name when film_end succeeds. */
typedef struct Film Film;
Film *film_begin(const PlotAllocator *alloc, const char *path, bool gif, int frames,
                 double per_second);
/* the reason of a failure is figure_error(f) */
PlotStatus film_add(Film *film, Figure *f, double dpi);
/* frees it; when not all frames came: no file */
PlotStatus film_end(Film *film, char *error, size_t error_cap);
/* What the axis of a panel would show by itself, without margins; false when
 * nothing is there. */
bool panel_reach(Figure *f, int panel, PlotAxis axis, double *low, double *high);
bool panel_fixed(const Figure *f, int panel, PlotAxis axis); /* limits have been set */
/* Limits with the margins that the axis would have by itself; nothing where
 * limits have been set. */
PlotStatus panel_limits_loose(Figure *f, int panel, PlotAxis axis, double low, double high);
int figure_count(const Figure *f);

/* At most `columns` columns wide (at least 20). `rows` lines high (at least 6)
 * when the grid fits into that; else the panels come one below another, each
 * `rows` high. Colour: ANSI 256. Nothing is sent when it fails. */
PlotStatus figure_write_terminal(Figure *f, int columns, int rows, bool colour, PlotSink sink,
                                 void *ud);

#endif
