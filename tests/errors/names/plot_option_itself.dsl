#! error E0203 2:20-2:32 "`semilogy` says itself what `logy` is"
semilogy([1.0, 2]; logy = false)
