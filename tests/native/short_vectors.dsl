# Loops that carry short vectors become vectors of lanes, for every length that
# is constant and however many lanes a vector of the machine has. The many
# iterations make the code worth full optimisation.
left(y, a) = y * y + 0.25 * sin(y) - a
bisect(a) = {
  low = 0.0 * a
  high = 1.0 + a
  for k in 0..20000 {
    middle = 0.5 * (low + high)
    over = left(middle, a) * (1.0 + middle)
    low = where(over <= 0, middle, low)
    high = where(over <= 0, high, middle)
  }
  0.5 * (low + high)
}
off(a) = max(abs(left(bisect(a), a)))
off1(x) = off(x * linspace(0.1, 0.9, 1))
off1(1.0) < 1e-12  #> true
off2(x) = off(x * linspace(0.1, 0.9, 2))
off2(1.0) < 1e-12  #> true
off3(x) = off(x * linspace(0.1, 0.9, 3))
off3(1.0) < 1e-12  #> true
off4(x) = off(x * linspace(0.1, 0.9, 4))
off4(1.0) < 1e-12  #> true
off5(x) = off(x * linspace(0.1, 0.9, 5))
off5(1.0) < 1e-12  #> true
off6(x) = off(x * linspace(0.1, 0.9, 6))
off6(1.0) < 1e-12  #> true
off7(x) = off(x * linspace(0.1, 0.9, 7))
off7(1.0) < 1e-12  #> true
off8(x) = off(x * linspace(0.1, 0.9, 8))
off8(1.0) < 1e-12  #> true
off9(x) = off(x * linspace(0.1, 0.9, 9))
off9(1.0) < 1e-12  #> true
off10(x) = off(x * linspace(0.1, 0.9, 10))
off10(1.0) < 1e-12  #> true
off11(x) = off(x * linspace(0.1, 0.9, 11))
off11(1.0) < 1e-12  #> true
off12(x) = off(x * linspace(0.1, 0.9, 12))
off12(1.0) < 1e-12  #> true
off13(x) = off(x * linspace(0.1, 0.9, 13))
off13(1.0) < 1e-12  #> true
off14(x) = off(x * linspace(0.1, 0.9, 14))
off14(1.0) < 1e-12  #> true
off15(x) = off(x * linspace(0.1, 0.9, 15))
off15(1.0) < 1e-12  #> true
off16(x) = off(x * linspace(0.1, 0.9, 16))
off16(1.0) < 1e-12  #> true
off17(x) = off(x * linspace(0.1, 0.9, 17))
off17(1.0) < 1e-12  #> true
off18(x) = off(x * linspace(0.1, 0.9, 18))
off18(1.0) < 1e-12  #> true
off19(x) = off(x * linspace(0.1, 0.9, 19))
off19(1.0) < 1e-12  #> true
off20(x) = off(x * linspace(0.1, 0.9, 20))
off20(1.0) < 1e-12  #> true
off21(x) = off(x * linspace(0.1, 0.9, 21))
off21(1.0) < 1e-12  #> true
off22(x) = off(x * linspace(0.1, 0.9, 22))
off22(1.0) < 1e-12  #> true
off23(x) = off(x * linspace(0.1, 0.9, 23))
off23(1.0) < 1e-12  #> true
off24(x) = off(x * linspace(0.1, 0.9, 24))
off24(1.0) < 1e-12  #> true
off25(x) = off(x * linspace(0.1, 0.9, 25))
off25(1.0) < 1e-12  #> true
off26(x) = off(x * linspace(0.1, 0.9, 26))
off26(1.0) < 1e-12  #> true
off27(x) = off(x * linspace(0.1, 0.9, 27))
off27(1.0) < 1e-12  #> true
off28(x) = off(x * linspace(0.1, 0.9, 28))
off28(1.0) < 1e-12  #> true
off29(x) = off(x * linspace(0.1, 0.9, 29))
off29(1.0) < 1e-12  #> true
off30(x) = off(x * linspace(0.1, 0.9, 30))
off30(1.0) < 1e-12  #> true
off31(x) = off(x * linspace(0.1, 0.9, 31))
off31(1.0) < 1e-12  #> true
off32(x) = off(x * linspace(0.1, 0.9, 32))
off32(1.0) < 1e-12  #> true
off33(x) = off(x * linspace(0.1, 0.9, 33))
off33(1.0) < 1e-12  #> true
off34(x) = off(x * linspace(0.1, 0.9, 34))
off34(1.0) < 1e-12  #> true
off35(x) = off(x * linspace(0.1, 0.9, 35))
off35(1.0) < 1e-12  #> true
off36(x) = off(x * linspace(0.1, 0.9, 36))
off36(1.0) < 1e-12  #> true
off37(x) = off(x * linspace(0.1, 0.9, 37))
off37(1.0) < 1e-12  #> true
off38(x) = off(x * linspace(0.1, 0.9, 38))
off38(1.0) < 1e-12  #> true
off39(x) = off(x * linspace(0.1, 0.9, 39))
off39(1.0) < 1e-12  #> true
off40(x) = off(x * linspace(0.1, 0.9, 40))
off40(1.0) < 1e-12  #> true
off63(x) = off(x * linspace(0.1, 0.9, 63))
off63(1.0) < 1e-12  #> true
off64(x) = off(x * linspace(0.1, 0.9, 64))
off64(1.0) < 1e-12  #> true
off65(x) = off(x * linspace(0.1, 0.9, 65))
off65(1.0) < 1e-12  #> true
