#! error E0201 2:5-2:13 "no `fourrier`; did you mean `fourier`?"
a = fourrier(3)
