#! error E0603 3:1-3:25 "2147483647 + 1 does not fit in an integer of type i32"
# An i32 has an end of its own.
i32(2147483647) + i32(1)
