#! error E0803 2:1-2:44 "a panel is flat or in space; layers of both kinds do not go together"
overlay(plot([1, 2]), surface(zeros(3, 3)))
