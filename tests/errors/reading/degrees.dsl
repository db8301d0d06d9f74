#! error E0104 2:7-2:12 "units are reserved syntax" hint "angles are in radians: 30 degrees are 30π/180"
sin(30<deg>)
