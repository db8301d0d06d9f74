#! error E0104 2:5-2:12 "units are reserved syntax"
9.81<m/s^2>
