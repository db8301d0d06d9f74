#! error E0101 2:5-2:20 "a ' that follows neither a name nor a bracket" hint "text is written between double quotes: \"...\""
s = 'single quotes'
