"""How the library of certified instances was drawn and solved."""
