#! error E0104 2:8-2:9 "expected `,`, `;` or `]` after an element, found `2`" hint "the elements of a row are separated by `,`, rows by `;`"
A = [1 2; 3 4]
