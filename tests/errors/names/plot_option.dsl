#! error E0203 2:20-2:31 "`semilogy` has no argument `titel`; did you mean `title`?"
semilogy([1.0, 2]; titel = "a")
