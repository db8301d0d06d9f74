#!/usr/bin/env python3
"""test_others_read.py - test that other programs read the files of Atled.

The readers are those of NumPy, pandas, h5py and VTK, each where it is installed.

Use: ATLED=build/atled python3 tests/io/test_others_read.py. The last line counts.
"""
import importlib
import json
import os
import subprocess
import sys
import tempfile

passed = failed = skipped = 0
folder = tempfile.mkdtemp(prefix="atled-others-")
program = """
cube = reshape(iota(24), 2, 3, 4)
for ending in list("npy", "h5") {
  save("DIR/bool.{ending}", cube > 5)
  save("DIR/i32.{ending}", i32(cube))
  save("DIR/i64.{ending}", cube)
  save("DIR/f32.{ending}", f32(cube) / 7)
  save("DIR/f64.{ending}", cube / 7)
  save("DIR/c64.{ending}", c64(cube + 1im))
  save("DIR/c128.{ending}", cube / 3 + 0.5im)
  save("DIR/scalar.{ending}", 2.5)
  save("DIR/empty.{ending}", zeros(0, 3))
  save("DIR/view.{ending}", cube[.. by -1, 1.., .. by 2])
}
several = (x = cube, text = "hällo", texts = list("one", "two"), inner = (y = [1.5, 2], z = 1im),
  l = list(1, none))
save("DIR/several.npz", several)
save("DIR/packed.npz", several, compress = true)
save("DIR/several.h5", several)
save("DIR/packed.h5", (x = linspace(0.0, 1, 1000),), compress = true)
save("DIR/table.csv", (t = [0.1, 2/3, 0.0/0], n = [1, 2, 3], name = list("a", "b,c", "say \\"x\\""),
  ok = [true, false, true]))
save("DIR/matrix.csv", [1.5, 2; 3, 4e-300])
save("DIR/value.json", (x = [0.1, 1e300], i = [1, 2; 3, 4], s = "ä\\n", l = list(1, none, true)))
image = (origin = [1.0, 2, 3], spacing = [0.1, 0.2, 0.3],
  point = (u = f64(cube), b = cube > 3, v = reshape(f32(iota(72)), 2, 3, 4, 3)),
  cell = (k = reshape(iota(6), 1, 2, 3),))
save("DIR/image.vti", image)
save("DIR/packed.vti", image, compress = true)
grid = (points = [0.0, 0; 1, 0; 0, 1; 1, 1], cells = [0, 1, 2; 1, 3, 2],
  point = (T = [1.0, 2, 3, 4],), cell = (k = [1, 2],))
save("DIR/grid.vtu", grid)
save("DIR/packed.vtu", grid, compress = true)
problem heat(k = 1.0) {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == k*u_xx
  u == sin(pi*x) at t = 0
  u == 0        at x = 0, x = 1
}
save("DIR/solution.vti", solve(heat(), fd(n = 21)))
""".replace("DIR", folder)


def check(what, holds):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what}")


def load(name):
    global skipped
    try:
        return importlib.import_module(name)
    except Exception as why:  # noqa: BLE001 - a library that does not load is as good as none
        skipped += 1
        print(f"skipped: {name}: {why}")
        return None


script = os.path.join(folder, "write.dsl")
with open(script, "w", encoding="utf-8") as out:
    out.write(program)
run = subprocess.run([os.environ.get("ATLED", "build/atled"), script], capture_output=True,
                     text=True, check=False)
print(run.stderr, end="")
check("the program runs", run.returncode == 0)
with open(f"{folder}/value.json", encoding="utf-8") as text:
    check("json", json.load(text) == {"x": [0.1, 1e300], "i": [[1, 2], [3, 4]], "s": "ä\n",
                                      "l": [1, None, True]})

np = load("numpy")
if np:
    cube = np.arange(24).reshape(2, 3, 4)
    want = {
        "bool": cube > 5, "i32": cube.astype("i4"), "i64": cube,
        "f32": cube.astype("f4") / np.float32(7), "f64": cube / 7, "c64": (cube + 1j).astype("c8"),
        "c128": cube / 3 + 0.5j, "scalar": np.float64(2.5), "empty": np.zeros((0, 3)),
        "view": cube[::-1, 1:, ::2],
    }
    for name, value in want.items():
        got = np.load(f"{folder}/{name}.npy")
        check(f"{name}.npy",
              got.dtype == value.dtype and got.shape == value.shape and (got == value).all())
    for name in ["several", "packed"]:
        with np.load(f"{folder}/{name}.npz") as z:
            check(name, (z["x"] == cube).all() and str(z["text"]) == "hällo"
                  and list(z["texts"]) == ["one", "two"] and (z["inner/y"] == [1.5, 2]).all()
                  and z["inner/z"] == 1j)
    check("matrix.csv",
          (np.loadtxt(f"{folder}/matrix.csv", delimiter=",") == [[1.5, 2], [3, 4e-300]]).all())

pd = load("pandas") if np else None
if pd:
    t = pd.read_csv(f"{folder}/table.csv")
    check("table.csv", list(t.columns) == ["t", "n", "name", "ok"] and t.t[1] == 2 / 3
          and np.isnan(t.t[2]) and list(t.name) == ["a", "b,c", 'say "x"'] and t.ok.dtype == bool
          and t.n.dtype == "int64")

h5py = load("h5py") if np else None
if h5py:
    for name, value in want.items():
        with h5py.File(f"{folder}/{name}.h5") as f:
            got = f["value"]
            check(f"{name}.h5", got.dtype == value.dtype and got.shape == value.shape
                  and (got[()] == value).all())
    with h5py.File(f"{folder}/several.h5") as f:
        check("several.h5", list(f) == ["x", "text", "texts", "inner", "l"]
              and f["text"].asstr()[()] == "hällo" and list(f["texts"].asstr()) == ["one", "two"]
              and f["inner/z"][()] == 1j and f["l"].attrs["atled_kind"] == "list")
    with h5py.File(f"{folder}/packed.h5") as f:
        check("packed.h5", f["x"].compression == "gzip"
              and np.allclose(f["x"][()], np.linspace(0, 1, 1000), rtol=1e-15, atol=0))

vtk = load("vtk") if np else None
if vtk:
    from vtk.util.numpy_support import vtk_to_numpy

    def array(data, name):
        return vtk_to_numpy(data.GetArray(name))

    for name in ["image", "packed"]:
        reader = vtk.vtkXMLImageDataReader()
        reader.SetFileName(f"{folder}/{name}.vti")
        reader.Update()
        d = reader.GetOutput()
        check(f"{name}.vti", d.GetDimensions() == (2, 3, 4) and d.GetOrigin() == (1, 2, 3)
              and d.GetSpacing() == (0.1, 0.2, 0.3))
        check(f"{name}.vti u", (array(d.GetPointData(), "u").reshape(4, 3, 2).T == cube).all()
              and (array(d.GetPointData(), "b").reshape(4, 3, 2).T == (cube > 3)).all())
        check(f"{name}.vti v",
              (array(d.GetPointData(), "v").reshape(4, 3, 2, 3)[3, 2, 1] == [69, 70, 71]).all()
              and (array(d.GetCellData(), "k").reshape(3, 2, 1).T
                   == np.arange(6).reshape(1, 2, 3)).all())
    for name in ["grid", "packed"]:
        reader = vtk.vtkXMLUnstructuredGridReader()
        reader.SetFileName(f"{folder}/{name}.vtu")
        reader.Update()
        d = reader.GetOutput()
        check(f"{name}.vtu", d.GetNumberOfCells() == 2 and d.GetCellType(1) == vtk.VTK_TRIANGLE
              and d.GetPoint(3) == (1, 1, 0)
              and (array(d.GetPointData(), "T") == [1, 2, 3, 4]).all()
              and (array(d.GetCellData(), "k") == [1, 2]).all())
    reader = vtk.vtkXMLImageDataReader()
    reader.SetFileName(f"{folder}/solution.vti")
    reader.Update()
    d = reader.GetOutput()
    check("solution.vti", d.GetDimensions() == (21, 201, 1)
          and abs(array(d.GetPointData(), "u").reshape(201, 21)[0, 10] - 1) < 1e-3)

for name in os.listdir(folder):
    os.unlink(os.path.join(folder, name))
os.rmdir(folder)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed != 0)
