/* delaunay_qhull.h - the host function delaunay(points f64[n, 2]).
 *
 * Its result is the Delaunay triangulation i64[m, 3]: the numbers of the points
 * at the corners of each triangle, anticlockwise. The order of triangles and
 * the first corner of each are qhull's.
 *
 * Needs: host.h.
 *
 * Contract:
 * - Each point is a corner. The triangles fill the convex hull, up to triangles
 *   at the hull whose height is below 1e-12 of the points' extent.
 * - Four or more points on one circle are triangulated in some way.
 * - Coinciding points, points on one line, and points that qhull cannot
 *   separate are errors of the program.
 * - The result is an integer and has no derivative.
 */
#ifndef ATLED_SOLVERS_GEOMETRY_DELAUNAY_QHULL_H
#define ATLED_SOLVERS_GEOMETRY_DELAUNAY_QHULL_H

#include "lang/ir/host.h"

extern const HostDef delaunay_host;

#endif
