/* plot.h - figures of lines, points and fields, as SVG, PNG, PDF or text.
 *
 * Use:
 * - Make a Figure with a grid of panels, add series and fields to panels, write
 *   it any number of times, free it.
 * - Panels are numbered row by row from 0.
 * - Data arrays are borrowed: they must live, unchanged, until the last write.
 *   Strings are copied.
 * - Strings are UTF-8. "^{...}" and "_{...}" are superscripts and subscripts,
 *   as in "10^{-3}" and "u_{xx}"; a bare ^ or _ is itself. Strings are cut
 *   after 1000 characters.
 *
 * Needs: libc, libm, libpng, lang/base/dynlib.h; nothing else of Atled. Cairo,
 * FreeType and giflib are loaded when a figure is first written to a file.
 *
 * Guarantees:
 * - There is no global state but the libraries and the font, which are opened
 *   once. Figures may be written by several threads, each by one at a time.
 * - Every failure is a PlotStatus with a message in figure_error. No input
 *   causes a crash or an endless loop.
 * - NaN and infinite samples are gaps in lines and grey in fields.
 * - Files are replaced atomically.
 * - Numbers are written independently of the locale.
 */
#ifndef ATLED_REPL_PLOT_PLOT_H
#define ATLED_REPL_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PlotStatus {
	PLOT_OK = 0,
	/* a NULL pointer; an impossible size or index; extents or limits that do
	 * not fit */
	PLOT_BAD_ARGUMENT,
	/* coordinates of a field that are not strictly monotonic; limits that an
	 * axis cannot show */
	PLOT_BAD_DATA,
	PLOT_TOO_SMALL, /* the picture has no room for its panels */
	PLOT_NO_MEMORY,
	PLOT_IO_ERROR,  /* the file could not be written; nothing remains of it */
	PLOT_NO_LIBRARY /* a library that draws is not installed, or it fails */
} PlotStatus;

/* resize(ud, p, old, new): new == 0 frees; p == NULL allocates. On failure it
 * returns NULL and p stays valid. */
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
	/* right axis of a flat panel, for layers with `right` */
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
	PLOT_MARKER_AUTO /* chosen by the index of the series in its panel */
} PlotMarker;

typedef enum PlotLegend {
	PLOT_LEGEND_AUTO, /* the emptiest corner; beside the panel if all are full */
	PLOT_LEGEND_NONE,
	PLOT_LEGEND_TOP_LEFT,
	PLOT_LEGEND_TOP_RIGHT,
	PLOT_LEGEND_BOTTOM_LEFT,
	PLOT_LEGEND_BOTTOM_RIGHT,
	PLOT_LEGEND_OUTSIDE
} PlotLegend;

typedef enum PlotMap {
	/* diverging when values of both signs are of similar size, else
	 * sequential */
	PLOT_MAP_AUTO,
	PLOT_MAP_SEQUENTIAL, /* dark violet over green to yellow, uniform in lightness */
	PLOT_MAP_DIVERGING,  /* blue over white to red; white at 0 unless limits are set */
	PLOT_MAP_GREY,
	PLOT_MAP_WARM,  /* black over violet and orange to pale yellow, uniform in lightness */
	PLOT_MAP_CYCLIC /* for angles and phases: both ends have the same colour */
} PlotMap;

#define PLOT_COLOUR_AUTO (-1) /* chosen by the index of the series in its panel */
#define PLOT_COLOURS 8        /* colours 0 .. 7; larger indices wrap around */
/* an explicit colour */
#define PLOT_RGB(r, g, b) (0x1000000 | (int)(r) << 16 | (int)(g) << 8 | (int)(b))

/* n samples (x[i*x_step], y[i*y_step]). With x == NULL, x is 0, 1, 2... A step
 * of 0 means 1. With n == 0 nothing is drawn. */
typedef struct PlotSeries {
	const double *x, *y;
	size_t n;
	ptrdiff_t x_step, y_step;
	const char *label; /* NULL: not in the legend */
	int colour;        /* an index, or PLOT_COLOUR_AUTO */
	PlotDash dash;
	PlotMarker marker;
	double width;   /* of the line or marker, in units of 1/96 inch; 0: default */
	double opacity; /* up to 1; 0: default */
} PlotSeries;

/* nx*ny samples z[i*x_step + j*y_step] at (x[i], y[j]). With x or y NULL the
 * coordinates are 0, 1, 2... With both steps 0 the order is row-major, (ny, 1).
 * For u[nt][nx] over x and t: x = positions, y = times, x_step = 1, y_step =
 * nx. */
typedef struct PlotField {
	const double *x, *y, *z;
	size_t nx, ny;
	ptrdiff_t x_step, y_step;
	PlotMap map;
	/* draw each sample as a flat cell around its point; else interpolate
	 * between points */
	bool cells;
} PlotField;

/* The kind of a layer, and the fields of PlotLayer that it uses. For all kinds,
 * `s` has the samples (without steps), the label and the style. */
typedef enum PlotKind {
	PLOT_LINE,    /* connected samples; markers if `s.marker` is set */
	PLOT_SCATTER, /* markers only; c: values shown by colour */
	PLOT_BAND,    /* the area between y and a over x; sideways: between x and a over y */
	/* from a (NULL: base) to y at x, of width b (NULL: from the spacing);
	 * sideways: from a to x at y */
	PLOT_BARS,
	PLOT_ERRORS, /* a below and b above y, c left and d right of x; each may be NULL */
	PLOT_STEMS,  /* a thin line from base to each marker */
	/* x NULL: horizontal lines at y; y NULL: vertical lines at x. a: areas from
	 * there to a */
	PLOT_RULES,
	/* vectors (a, b) at (x, y), or (grid.z, w) at grid points; scale: data
	 * units per unit of length, 0: automatic */
	PLOT_ARROWS,
	PLOT_FLOW, /* streamlines of (grid.z, w); scale: density, 0: 1 */
	/* of grid, at the levels; filled: the areas between them; labelled: numbers
	 * on the lines */
	PLOT_CONTOURS,
	/* text at (x, y), at an anchor -1, 0, 1 of x; a: an arrow from the text to
	 * (a, b) */
	PLOT_TEXT,
	PLOT_POLYGON, /* the area inside the samples */
	/* grid as heights over x and y. A panel with one of the last three kinds is
	 * drawn in perspective. */
	PLOT_SURFACE,
	PLOT_LINE_3D, /* connected samples (x, y, a) */
	PLOT_SCATTER_3D
} PlotKind;

typedef struct PlotLayer {
	PlotKind kind;
	PlotSeries s;
	const double *a, *b, *c, *d; /* s.n of each */
	double base, scale;
	bool sideways, filled, labelled, mesh;
	bool right; /* y is measured by the right axis */
	PlotField grid;
	const double *w; /* the second component, laid out like grid.z */
	const double *levels;
	size_t nlevels; /* 0: round values */
	const char *text;
	int anchor;
} PlotLayer;

/* ---- building ------------------------------------------------------------ */

/* Returns a figure of rows times cols panels, each from 1 to 16. With alloc
 * NULL, uses malloc. Returns NULL when the size is wrong or memory fails. */
Figure *figure_new(const PlotAllocator *alloc, int rows, int cols);
void figure_free(Figure *f); /* NULL is allowed */

/* Returns why the last failed call on this figure failed, or "". Valid until
 * the next call. */
const char *figure_error(const Figure *f);

PlotStatus figure_title(Figure *f, const char *text);

/* Sets the natural size, 80 .. 10000 in units of 1/96 inch. Text is about 10
 * units high. The default depends on the grid. */
PlotStatus figure_size(Figure *f, double width, double height);

PlotStatus panel_title(Figure *f, int panel, const char *text);
PlotStatus panel_label(Figure *f, int panel, PlotAxis axis, const char *text);
PlotStatus panel_scale(Figure *f, int panel, PlotAxis axis, PlotScale scale);
/* low > high reverses the axis. */
PlotStatus panel_limits(Figure *f, int panel, PlotAxis axis, double low, double high);
PlotStatus panel_legend(Figure *f, int panel, PlotLegend where);
PlotStatus panel_grid(Figure *f, int panel, bool on); /* faint lines at the ticks; default: off */
/* Sets the ratio of the drawn length of a y unit to that of an x unit. With 0
 * the plot fills its place. */
PlotStatus panel_aspect(Figure *f, int panel, double ratio);
/* Sets the ticks of any axis but z: only these positions, with these labels. */
PlotStatus panel_ticks(Figure *f, int panel, PlotAxis axis, size_t n, const double *at,
                       const char *const *texts);
/* Sets the viewpoint, in degrees: around the z axis, and above the x-y
 * plane. */
PlotStatus panel_view(Figure *f, int panel, double azimuth, double elevation);
PlotStatus panel_map(Figure *f, int panel, PlotMap map); /* of everything shown by colour */

/* connected samples; markers if s->marker is set */
PlotStatus panel_line(Figure *f, int panel, const PlotSeries *s);
PlotStatus panel_scatter(Figure *f, int panel, const PlotSeries *s); /* markers only */
/* one per panel, below its lines */
PlotStatus panel_field(Figure *f, int panel, const PlotField *z);
/* any kind; later layers cover earlier ones */
PlotStatus panel_layer(Figure *f, int panel, const PlotLayer *layer);

/* ---- writing ------------------------------------------------------------- */

PlotStatus figure_write_svg(Figure *f, const char *path);

/* Writes a PDF page of the natural size. The environment variable
 * SOURCE_DATE_EPOCH sets the date of its metadata. */
PlotStatus figure_write_pdf(Figure *f, const char *path);

/* Writes a PNG of width by height pixels, 16 .. 16384 each. With both 0 it has
 * twice the natural size. The layout has this aspect ratio, and text scales
 * with the number of pixels. */
PlotStatus figure_write_png(Figure *f, const char *path, int width, int height);

/* Checks that the axes can show the data and the limits that were set. Returns
 * the error that the writers would return. */
PlotStatus figure_check(Figure *f);

/* Writes a PNG of the natural size with `dpi` pixels per inch. Text has the
 * same size as on paper. */
PlotStatus figure_write_png_dpi(Figure *f, const char *path, double dpi);

/* An animation, as APNG or, with gif, as GIF. Each frame is drawn and written
 * when it is added; all frames have the size of the first. The file gets its
 * name when film_end succeeds. */
typedef struct Film Film;
Film *film_begin(const PlotAllocator *alloc, const char *path, bool gif, int frames,
                 double per_second);
/* on failure figure_error(f) has the reason */
PlotStatus film_add(Film *film, Figure *f, double dpi);
/* frees it; when frames are missing there is no file */
PlotStatus film_end(Film *film, char *error, size_t error_cap);
/* Gets the automatic range of an axis, without margins. Returns false when the
 * axis has no data. */
bool panel_reach(Figure *f, int panel, PlotAxis axis, double *low, double *high);
bool panel_fixed(const Figure *f, int panel, PlotAxis axis); /* limits have been set */
/* Sets limits with the margins of an automatic axis. Does nothing where limits
 * have been set. */
PlotStatus panel_limits_loose(Figure *f, int panel, PlotAxis axis, double low, double high);
int figure_count(const Figure *f);

/* Writes the figure as text, at most `columns` (at least 20) wide. If the grid
 * fits, the figure is `rows` (at least 6) lines high. Else the panels are
 * stacked, each `rows` high. Colours are ANSI 256. On failure nothing is
 * written. */
PlotStatus figure_write_terminal(Figure *f, int columns, int rows, bool colour, PlotSink sink,
                                 void *ud);

#endif
