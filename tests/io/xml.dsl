# The XML of VTK's files: what a file may contain, and what is refused.
at(name) = "/tmp/atled-data-x-{name}"
# an image of three points: the XML of its fields, and what stands before it
image(fields; before = "") = write_text(at("x.vti"),
  before + "<VTKFile type='ImageData'>\n<ImageData WholeExtent='0 2 0 0 0 0'><Piece Extent='0 2 0 0 0 0'>\n<PointData>" + fields + "</PointData>\n</Piece></ImageData></VTKFile>\n")
array(name, text; more = "") = "<DataArray type='Float64' Name='{name}' {more}>{text}</DataArray>"
# f(0), f(1), ... one after another
many(f, n) = join(map(f, list(...(0..n))), "")
read() = load(at("x.vti")).point
said(f) = try { f(); "nothing" } catch e { e }

# ---- references, comments, CDATA
image(array("a&amp;b &lt;&gt; &quot;&#8364;&#x20ac;", "1 2 3"))
keys(read())[0] == "a&b <> \"€€"            #> true
image(array("u", "1 <!-- 5 6 --> 2 <?data 7?> &#51;"))
read()                                     #> (u = [1, 2, 3])
image(array("u", "<![CDATA[1 2]]> 3"))
read()                                     #> (u = [1, 2, 3])
# text after the first element inside an array is not data
image(array("u", "1 2 3 <InformationKey name='x'><Value index='0'>4</Value></InformationKey> 5"))
read()                                     #> (u = [1, 2, 3])
# any number of attributes, in quotes of both kinds
image(array("u", "1 2 3"; more = many(i -> "a{i}=\"{i}\" ", 60)))
read()                                     #> (u = [1, 2, 3])

# ---- encodings
load("tests/io/samples/image_latin.vti").point    #> (größe = [1, 2, 3])
r = load("tests/io/samples/image_utf16.vti").point;
keys(r)[0] == "größe in €"                 #> true
write_text(at("x.vti"), "<?xml version='1.0' encoding='EBCDIC-CP-BE'?><VTKFile/>")
said(read)                                 #> /tmp/atled-data-x-x.vti:1:31: its encoding is not known; UTF-8, UTF-16, ISO-8859-1 and US-ASCII are

# ---- the list of a series: names of files with references
save(at("a & b.pvd"), (times = [1, 2], spacing = [0.5], point = (q = [1.0, 2, 3; 4, 5, 6],)))
contains(read_text(at("a & b.pvd")), "a &amp; b_00000.vti")   #> true
load(at("a & b.pvd")).pieces[1].point.q      #> [4, 5, 6]

# ---- entities: those of the file only, few, and without growing much
image(array("u", "&one; 2 3"); before = "<!DOCTYPE VTKFile [<!ENTITY one '1'>]>")
read()                                     #> (u = [1, 2, 3])
image(array("u", "1 &no; 3"))
contains(said(read), "x.vti:3:")           #> true
contains(said(read), "undefined entity")   #> true
image(array("u", "1 2 &file;"); before = "<!DOCTYPE VTKFile [<!ENTITY file SYSTEM '/etc/hostname'>]>\n")
contains(said(read), "x.vti:4:")           #> true
contains(said(read), "an entity in another file, which is not read")   #> true
image(array("u", "1 2 &no;"); before = "<!DOCTYPE VTKFile SYSTEM 'vtk.dtd'>\n")
contains(said(read), "x.vti:4:")           #> true
contains(said(read), "an entity that the file does not define")   #> true
laughs = "<!ENTITY e0 '1 2 3 4 5 6 7 8 9 10 '>" + many(i -> "<!ENTITY e{i + 1} '{many(k -> "&e{i};", 10)}'>", 9)
image(array("u", "&e9;"); before = "<!DOCTYPE VTKFile [{laughs}]>")
contains(said(read), "amplification")      #> true
image(array("u", "1 2 3"); before = "<!DOCTYPE VTKFile [{many(i -> "<!ENTITY e{i} '1'>", 101)}]>")
contains(said(read), "more than 100 entities")   #> true

# ---- appended data may be any bytes, and end the reading
write_text(at("x.vti"), "<VTKFile type='ImageData' header_type='UInt32'>\n<ImageData WholeExtent='0 2 0 0 0 0'><Piece Extent='0 2 0 0 0 0'><PointData><DataArray type='Int8' Name='u' format='appended' offset='0'/></PointData></Piece></ImageData>\n<AppendedData encoding='raw'>\n _\u{3}\u{0}\u{0}\u{0}<&>")
read()                                     #> (u = [60, 38, 62])
write_text(at("x.vti"), "<VTKFile type='ImageData'>\n<ImageData WholeExtent='0 2 0 0 0 0'><Piece Extent='0 2 0 0 0 0'><PointData/></Piece></ImageData>\n<AppendedData encoding='raw'/>\n")
said(read)                                 #> /tmp/atled-data-x-x.vti:3: AppendedData: the mark _ is missing

# ---- damage: the line and column
broken(text) = { write_text(at("x.vti"), text); said(read) }
broken("")                                 #> /tmp/atled-data-x-x.vti:1:1: this is no XML: it does not begin with <
broken("1 <a/>")                           #> /tmp/atled-data-x-x.vti:1:1: this is no XML: it does not begin with <
broken("<!-- -->\n text <a/>")              #> /tmp/atled-data-x-x.vti:2:2: this is no XML: syntax error
broken("<VTKFile>\n <a b='1'>\n </VTKFile>")   #> /tmp/atled-data-x-x.vti:3:4: this closes another element than the one that is open
broken("<VTKFile>\n <a b='1'>\n ")         #> /tmp/atled-data-x-x.vti:2:2: this element is not closed: the file ends before
broken("<VTKFile>\n <a b='1'>\n <!-- ")    #> /tmp/atled-data-x-x.vti:3:2: the file ends inside the tag, comment or declaration that begins here
broken("<VTKFile>\n <a b='1")              #> /tmp/atled-data-x-x.vti:2:2: the file ends inside the tag, comment or declaration that begins here
broken("<VTKFile>\n <a b=1>")              #> /tmp/atled-data-x-x.vti:2:7: damaged XML: not well-formed (invalid token)
broken("<VTKFile>\n <a b='1' b='2'>")      #> /tmp/atled-data-x-x.vti:2:11: damaged XML: duplicate attribute
broken("<VTKFile>\n</VTKFile><a/>")        #> /tmp/atled-data-x-x.vti:2:11: damaged XML: junk after document element
broken("<VTKFile>" + many(i -> "<a>\n", 200))   #> /tmp/atled-data-x-x.vti:200:1: elements nested more than 200 deep
