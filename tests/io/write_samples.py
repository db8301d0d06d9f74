#!/usr/bin/env python3
"""write_samples.py - writer of the sample files of tests/io.

Use: python3 tests/io/write_samples.py [FOLDER]

Small arrays are written by NumPy, pandas, h5py and VTK. The script needs all
four. The tests need none of them, because the files are in the tree.
"""
import os
import sys

import h5py
import numpy as np
import pandas as pd
import vtk
from vtk.util.numpy_support import numpy_to_vtk

folder = (sys.argv[1] if len(sys.argv) > 1
          else os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples"))
os.makedirs(folder, exist_ok=True)


def at(name):
    return os.path.join(folder, name)


grid = np.arange(6).reshape(2, 3)
for name in ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
             "float16", "float32", "float64", "complex64", "complex128"]:
    np.save(at(f"{name}.npy"), (grid - (0 if name[0] in "bu" else 2)).astype(name))
np.save(at("fortran.npy"), np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
np.save(at("big.npy"), np.arange(6.0).reshape(2, 3).astype(">f8"))
np.save(at("big_complex.npy"), (np.arange(3) + 1j).astype(">c8"))
np.save(at("scalar.npy"), np.float64(2.5))
np.save(at("empty.npy"), np.zeros((0, 3)))
np.save(at("texts.npy"), np.array(["one", "zwei", "drei ä"]))
np.save(at("too_large.npy"), np.array([1, 2**63], dtype=np.uint64))
np.savez(at("stored.npz"), a=grid, b=np.array([1.5, np.nan]))
np.savez_compressed(at("packed.npz"), a=np.zeros((50, 50)), text=np.array("hello"))

table = pd.DataFrame({"t": [0.0, 0.5, 1.0], "n": [1, 2, 3], "name": ["a", "b,c", 'say "x"'],
                      "u": [1.5, np.nan, -2e-300], "ok": [True, False, True]})
table.to_csv(at("pandas.csv"), index=False)
table.to_csv(at("pandas.tsv"), index=False, sep="\t")
table.to_json(at("pandas.json"), orient="records")
np.savetxt(at("savetxt.csv"), np.arange(6.0).reshape(2, 3), delimiter=",")

with h5py.File(at("h5py.h5"), "w") as f:
    f["grid"] = grid
    f["z"] = np.array([1 + 2j, 3 - 4j])
    f["z32"] = np.array([1 + 2j], dtype=np.complex64)
    f["truth"] = np.array([True, False])
    f["small"] = np.array([-1, 2], dtype=np.int8)
    f["half"] = np.array([0.5, 1.5], dtype=np.float16)
    f["big_end"] = np.arange(3, dtype=">i4")
    f["text"] = "hällo"
    f["texts"] = ["one", "two"]
    f["fixed"] = np.array([b"ab", b"cde"])
    f["number"] = 2.5
    f["nothing"] = h5py.Empty("f8")
    f.create_dataset("packed", data=np.arange(1000.0).reshape(100, 10), chunks=(17, 4),
                     compression="gzip", shuffle=True, fletcher32=True)
    f.create_group("inner/deeper")["x"] = [1, 2, 3]
    f["rows"] = np.array([(1, 2.5), (3, 4.5)], dtype=[("k", "i4"), ("v", "f8")])
    f["link"] = h5py.SoftLink("/inner/deeper")
with h5py.File(at("loop.h5"), "w") as f:
    f.create_group("a")["up"] = h5py.SoftLink("/a")
with h5py.File(at("loop_hard.h5"), "w") as f:
    f.create_group("a/b")
    f["a/b/back"] = f["a"]
with h5py.File(at("external.h5"), "w") as f:
    f["other"] = h5py.ExternalLink("h5py.h5", "/grid")
with h5py.File(at("latest.h5"), "w", libver="latest") as f:
    f["x"] = np.arange(10)
    f.create_dataset("c", data=np.arange(20.0), chunks=(7,), maxshape=(None,))

image = vtk.vtkImageData()
image.SetDimensions(2, 3, 4)
image.SetSpacing(0.1, 0.2, 0.3)
image.SetOrigin(1, 2, 3)
u = numpy_to_vtk(np.arange(24.0), deep=1)
u.SetName("u")
image.GetPointData().AddArray(u)
v = numpy_to_vtk(np.arange(72, dtype=np.float32).reshape(24, 3), deep=1)
v.SetName("v")
image.GetPointData().AddArray(v)
k = numpy_to_vtk(np.arange(6, dtype=np.int16), deep=1)
k.SetName("k")
image.GetCellData().AddArray(k)

points = vtk.vtkPoints()
for p in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]:
    points.InsertNextPoint(p)
cells = vtk.vtkUnstructuredGrid()
cells.SetPoints(points)
for kind, ids in [(vtk.VTK_TETRA, [0, 1, 2, 3]), (vtk.VTK_TRIANGLE, [1, 2, 4])]:
    cells.InsertNextCell(kind, len(ids), ids)
heat = numpy_to_vtk(np.arange(5.0), deep=1)
heat.SetName("T")
cells.GetPointData().AddArray(heat)

for mode in ["ascii", "binary", "appended", "raw", "packed", "narrow", "big"]:
    for name, what, writer in [("image", image, vtk.vtkXMLImageDataWriter()),
                               ("grid", cells, vtk.vtkXMLUnstructuredGridWriter())]:
        writer.SetFileName(at(f"{name}_{mode}.{'vti' if name == 'image' else 'vtu'}"))
        writer.SetInputData(what)
        writer.SetCompressor(vtk.vtkZLibDataCompressor() if mode == "packed" else None)
        if mode == "ascii":
            writer.SetDataModeToAscii()
        elif mode in ["binary", "narrow", "big"]:
            writer.SetDataModeToBinary()
        else:
            writer.SetDataModeToAppended()
        writer.SetEncodeAppendedData(mode in ["appended", "packed"])
        if mode == "narrow":
            writer.SetHeaderTypeToUInt32()
        if mode == "big":
            writer.SetByteOrderToBigEndian()
        writer.Write()

for name, encoding, field in [("latin", "ISO-8859-1", "größe"), ("utf16", "UTF-16", "größe in €")]:
    with open(at(f"image_{name}.vti"), "wb") as f:
        f.write(f"""<?xml version="1.0" encoding="{encoding}"?>
<VTKFile type="ImageData" version="0.1">
  <ImageData WholeExtent="0 2 0 0 0 0">
    <Piece Extent="0 2 0 0 0 0">
      <PointData>
        <DataArray type="Float64" Name="{field}" format="ascii">1 2 3</DataArray>
      </PointData>
    </Piece>
  </ImageData>
</VTKFile>
""".encode(encoding))
