#! error E0203 2:13-2:21 "`sum` has no argument `axes`; did you mean `axis`?"
sum([1, 2]; axes = 0)
