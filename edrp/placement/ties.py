"""How equal optima are told apart: objective, then cost, then moved replicas, then the order of the document.

Searches add these terms to the objective; they lie far below any difference that counts and are taken out of
every objective and bound that is reported.
"""

TIE_COST = 5e-10
"""Objective per unit of cost over its scale: among equal objectives the cheapest is taken."""
TIE_MOVE = 2e-12
"""Objective per moved replica: among equal objectives and costs the fewest moves are taken."""
TIE_NODE = 1e-13
"""Objective of the last node for the last operator: among all else equal, early nodes are taken."""
