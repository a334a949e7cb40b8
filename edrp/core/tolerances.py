"""Every tolerance of the package: what it guards, and why it is that large.

Numbers are relative unless a docstring says otherwise, and "absolute below 1" means relative to the larger of 1 and the value.
A double carries 16 decimal digits, and a sum of a thousand terms loses three of them at worst: 1e-12 is what plain sums need,
1e-9 what users see. Who decides inside a search is stricter than who evaluates its answer, so that no answer is lost on the way.
Work per step, step sizes, shares and numbers of trials are no tolerances; they stand where they are used.

Kernels read them from a header that `edrp/native/building.py` writes: after a change they are to be built again.
"""

from __future__ import annotations

# Limits and capacities

LIMIT_SLACK = 2.5e-13
"""Excess over a limit, a capacity or a rate that is rounding of a sum in binary64, whatever the order of its terms.

A sum of n positive terms is wrong by at most n units of 1.1e-16: this is twice what a thousand terms make. The evaluator allows
no more, and methods aim at the same (`edrp.core.limits`). A byte of a terabyte is beyond it.
"""

MAP_LAYER_SLACK = 2e-13
"""Excess over a limit that layered graphs of maps allow: a fifth less than the evaluator, which adds in another order."""

COUNTED_LOAD_SLACK = 1.5e-13
"""Overload of a node in searches that count replicas per node.

It is less than what the evaluator allows: loads are kept by differences, move after move, and may end on either side of a sum.
"""

MAP_USE_SLACK = 2e-14
"""Excess of a map's use over `Graph.limit`: limits contain a slack already, so only the rounding of a few sums is left."""

LABEL_USE_SLACK = 1e-14
"""Excess of a label over what it has left of a tracked resource: below `MAP_USE_SLACK`, by which complete maps are judged."""

LABEL_SUM_SLACK = 2e-14
"""Share of the largest sum by which the rest of a resource is raised before it is rounded down to a possible sum.

It covers the difference between two orders of adding what components need, a few units in the last place each.
"""

GUIDE_SUM_DIFFERENCE = 1e-14
"""Share of a limit up to which two sums of needs are the same: they differ by their order alone, and are to be listed once."""

PATTERN_LOAD_SLACK = 2e-14
"""Error of a node's load, a sum of few terms in any order: far less than what a proof leaves open, so that ties stay out."""

QUOTIENT_USE_SLACK = 1e-13
"""Excess over a capacity of equal nodes, in units of the smallest demand, and over what they share, that counts as rounding.

Uses are compared by differences, not by ratios: with demands of at least one unit this is less than `LIMIT_SLACK` of a node,
which capacities contain already.
"""

MIN_QUOTIENT_ROOM = 1e-9
"""Least room of a node that loads are divided by, in units of the smallest demand: nothing fits in less than the slack."""

DOWNTIME_SLACK = 1e-13
"""Share by which a downtime may exceed the longest one: rounding of a sum of few times, less than `LIMIT_SLACK`."""

LATENCY_FLOOR_SLACK = 1e-9
"""Amount by which rates and times are rounded to the safe side, so that no number of replicas that may be is left out.

It is far above `LIMIT_SLACK`: what the evaluator admits has to stay in.
"""

SHARE_RANGE_SLACK = 1e-9
"""Share by which ranges of shares overlap, so that no share lies between two of them; absolute, as shares are at most 1."""

MIN_SPARE_CAPACITY = 1e-12
"""Spare capacity below which an operator counts as overloaded in compiled latencies; the evaluator may go either way."""

REACHED_LIMIT_ROOM = 1e-6
"""Room above the value of a known deployment where it becomes a limit on what is minimised.

The deployment has to stay feasible for solvers with scaled rows and sums; the limit only narrows the search, so it may be loose.
"""

CAPS_PEAK_ROOM = 1e-9
"""Room above the peaks of CAPS where they become limits, so that CAPS's own placement keeps them."""

MIN_STAGE_LIMIT = 1e-6
"""Limit, in the unit of a metric, that later stages keep to where an earlier one has reached 0: no ratio to 0 has a meaning."""

MIN_RANGE_PEAK = 1e-6
"""Peak load below which ranges are no longer told apart: documents take no limit that is much smaller."""

DELIVERED_DATA_SLACK = 1e-6
"""Difference between data delivered and data due in the record of a run that is rounding.

Data are summed over all windows and intervals of a task, which rounds more than a comparison with a limit.
"""

# Solvers and relaxations

FEASIBILITY_TOLERANCE = 1e-9
"""Amount by which a solver may miss a row, a bound or integrality; absolute.

A solver's usual 1e-6 would let a limit be missed by more than `LIMIT_SLACK`, and it is also the step by which branch and bound
improves an incumbent.
"""

SOLVER_GRID = 1e-9
"""Share of a row's limit to which solvers get its coefficients rounded: as far as they see (`FEASIBILITY_TOLERANCE`)."""

INTEGRALITY = 1e-6
"""Distance of a value to an integer in the solution of a linear program that still counts as whole; solvers' usual one."""

UNCOVERED_OPERATORS = 1e-6
"""Sum of the artificial columns of a master program below which patterns cover all operators; as `INTEGRALITY`."""

SMALL_REDUCED_COST = 1e-9
"""Share of its terms up to which a reduced cost may be meant to be 0; as `FEASIBILITY_TOLERANCE`, to which a solver knows it."""

REFINED_REDUCED_COST = 1e-24
"""Reduced cost that is 0 once multipliers have been refined with fractions: others, for which it is 0, are as near as that."""

CENTRED = 1e-6
"""Newton's decrement at which a point is as far from all limits as need be: it only aims a search at whole points near it."""

IMPLIED_BOUND_ROOM = 1e-6
"""Share, absolute below 1, by which bounds that rows imply are widened: far more than rounding makes, so that nothing is lost."""

EXACT_FEASIBILITY = 1e-12
"""Share of the largest row by which a point may break a program that it proves feasible: rounding of a sum and no more."""

COST_NOISE = 1e-14
"""Share of the largest cost below which one is rounding: a hundred units in the last place."""

GRID_CELL_SLACK = 1e-6
"""Distance below a whole number of cells that counts as it, where room is counted in cells: too many only loosen a bound."""

MIN_REDUCED_COST = 1e-9
"""Reduced cost up to which a pattern is not added: what it lowers the master's value by is within `FEASIBILITY_TOLERANCE`."""

EQUAL_AMOUNTS = 2e-14
"""Share of an amount below which differences are rounding: less than `LIMIT_SLACK`, so that no limit tells them apart."""

MIN_PATH_FLOW = 1e-9
"""Flow below which nothing is left to split into paths: flows of all paths sum to 1, and solvers know them no better."""

MIN_TRACKED_WEIGHT = 1e-9
"""Share of all weights from which labels track a resource from the beginning; below, a weight stands for no conflict."""

# Objectives, bounds and gaps

SAME_VALUE = 1e-9
"""Difference, absolute below 1, that rounding may make between two computations of the same number.

Methods add in other orders than the evaluator, and solvers miss rows by `FEASIBILITY_TOLERANCE`, which is as large.
"""

OPTIMALITY_GAP = 1e-9
"""Gap at which an incumbent counts as optimal unless the caller says otherwise: what `SAME_VALUE` cannot tell apart."""

CLOSED_GAP = 1e-12
"""Difference of an objective near 0 to its bound that counts as none; absolute, since a gap relative to 0 is no number."""

CONTRADICTION = 1e-6
"""Difference, absolute below 1, above which a bound and a decision contradict one another whatever rounding did.

It is a thousand times `SAME_VALUE`: no rounding makes that much.
"""

MAP_COST_DIFFERENCE = 1e-12
"""Difference between costs of maps that counts as rounding: what plain sums need, so that no smaller gap can be asked for."""

INCUMBENT_SLACK = 1e-9
"""Excess over an incumbent, absolute below 1, at which a composition is still looked at: `SAME_VALUE`, so that ties stay."""

STAGE_SLACK = 1e-9
"""Amount, absolute below 1, by which a stage of tie-breaking may worsen an earlier one's value: solvers miss rows by as much."""

MAX_STEPS = 1e12
"""Steps of the largest coefficient up to which a sum has steps at all: beyond, `LIMIT_SLACK` is a quarter of one."""

MAX_ROUNDED_STEPS = 1e8
"""Steps up to which a bound is rounded up to the next one: `SAME_VALUE`, to which solvers know it, is a tenth of one there."""

STEP_ROUNDING = 0.25
"""Share of a step by which a bound may lie above a multiple and still count as it; more than solvers' tolerances make of one."""

STAGE_STEP_ROOM = 0.5
"""Share of a step that later stages have above the value of one of whole multiples: none reaches the next, and none misses it."""

TIED_OBJECTIVE = 1e-12
"""Height above the incumbent's objective at which a tie may lie; below `TIE_MOVE`, which tells ties apart."""

EQUAL_OBJECTIVES = 1e-12
"""Difference of objectives that is rounding; absolute. Both are sums of the same terms in another order."""

EQUAL_VIOLATIONS = 2.5e-13
"""Difference of violated limits or overloads, relative to what is allowed, that is rounding: as `LIMIT_SLACK`."""

BRUTE_FORCE_TIE = 1e-9
"""Difference below which two objectives of an enumeration are optima both; absolute, and as large as a method's gap."""

TIE_COST = 5e-10
"""Objective per unit of cost over its scale: among equal objectives the cheapest is taken. Half of `OPTIMALITY_GAP`."""

TIE_MOVE = 2e-12
"""Objective per moved replica: among equal objectives and costs the fewest moves are taken."""

TIE_NODE = 1e-13
"""Objective of the last node for the last operator: among all else equal, early nodes are taken."""

SEARCH_NOISE = 1e-11
"""Difference of overloads or objectives below which a search sees none: ten times what sums need, as it adds differences."""

MIN_MOVE_GAIN = 1e-9
"""Share of the score of all instances apart below which a change is not worth making: no search walks on rounding alone."""

MIN_ANT_SCORE = 1e-6
"""Lower bound on an ant's score in the formula of its deposit, so that this is finite."""

EQUAL_NODES_PRICE_PROGRESS = 1e-6
"""Progress still possible, relative to the bound, at which prices of equal nodes count as the best.

It is finer than `RESCALE_PRICE_PROGRESS`: the first labels looked at are those within 2e-5 of the bound.
"""

RESCALE_PRICE_PROGRESS = 1e-4
"""Progress still possible, relative to the bound, at which prices of a rescaling count as the best; branching closes the rest."""

PATTERN_VALUE_GAP = 1e-4
"""Share of a program's value by which the bound of a program of patterns may be loose: the search closes the rest."""

FINEST_SELECTION_GAP, COARSEST_SELECTION_GAP = 1e-10, 1e-4
"""Gaps that a solver has to prove when it selects patterns, relative to an objective between 1 and 2.

The finest is a tenth of `FEASIBILITY_TOLERANCE`, below which a solver's gap has no meaning.
"""

FRONT_STEP = 1e-6
"""Improvement of the second metric that the next point of a front has at least; far above the gap of a proof."""

RATE_STEP = 1e-6
"""Step between a multiple of the rates that a deployment carries and the next one that is asked for; as `FRONT_STEP`.

A limit on a metric that binds within this of the rate at which a queue is full is not told apart from the queue.
"""

RATE_GAP = 1e-5
"""Distance of the multiple that is carried to one that is proven to be too much at which both count as the same.

It is ten times `RATE_STEP`: of what lies that near to the limit of a row, solvers can say nothing at times.
"""

ZERO_METRIC = 1e-9
"""Value of the second metric of a front, on its scale, that counts as 0: nothing is better."""

# Sums of state, work and probabilities

SUM_ROUNDING = 4e-15
"""Rounding of a sum of a few terms, relative to the largest or to the sum of all: some twenty units in the last place."""

SUM_DIFFERENCE_ROUNDING = 4.5e-16
"""Rounding of a difference of two sums, each rounded once, relative to the sum of all: two units in the last place."""

STATE_RESOLUTION = 1e-9
"""Share of all state below which differences of what moves are not told apart: a byte of a gigabyte."""

STATE_SUM_ROUNDING = 1e-13
"""Share of all state by which sums of state sizes may be wrong; projected costs are known no better."""

EQUAL_GAINS = 1e-12
"""Share of all state by which gains may differ and be equal: sums round that much, and rounding must not decide."""

EQUAL_ROUTE_DELAYS = 1e-12
"""Seconds of delay up to which two routes over physical links are equal, so that equal sums are equal whatever their rounding."""

EQUAL_LOADS = 1e-12
"""Share of all work, or of a peak, by which loads may differ and be equal; as `EQUAL_GAINS`."""

UNIT_SUM_SLACK = 1e-9
"""Amount by which probabilities or weights may miss a sum of 1; absolute. Decimal fractions of a document round that way."""

PROJECTED_COST_ACCURACY = 1e-11
"""Error of C, relative to all state, at which policy iteration ends: a hundredth of `STATE_RESOLUTION`."""

CERTIFIED_BOUND_MARGIN = 1e-10
"""Share of the value by which the claimed bound of a policy stays below it, so that errors of C fit in between."""

MIN_CERTIFIED_COST_ERROR, CERTIFIED_COST_ERROR = 2e-7, 2e-10
"""Error of C in bytes, or relative to the objective, a fifth of what the checker forgives."""

# Whole numbers and times

WHOLE_NUMBER_SLACK = 1e-9
"""Distance of a quotient to an integer within which it is that integer, before it is rounded up or down; absolute.

Quotients of loads and capacities, of times and intervals, and products of items with a selectivity are whole by intention. They
round to 1e-16 of themselves, and so stay within this up to a million.
"""

REPLICAS_SLACK = 1e-9
"""Excess over a whole number of replicas that a load may need and still get that number; relative, as a load's error is."""

TASK_QUOTA_SLACK = 1e-6
"""Distance below a whole number of tasks that counts as it, where a query is scaled: a factor may be given with few digits."""

EQUAL_TIMES = 1e-9
"""Seconds by which times may differ that are meant to be equal: a nanosecond, the least that documents take as a time."""

TASK_REMAINDER = 1e-10
"""Part of a task or of a window that is nothing but what rounding made of it: a task is a sum of many steps."""

MIN_HOST_SHARE = 1e-9
"""Least share of a host that a value is divided by, so that what needs nothing has a finite value."""

COINCIDENT_POSITIONS = 1e-9
"""Distance over latency below which two positions count as one: no direction can be told from it."""

# Reports, benchmarks and the fuzzer

PRINTED_MARGIN = 1e-9
"""Margin below 0 at which rounded figures of a paper do not yet contradict its text: a margin of 0 computed with rounding."""

EQUAL_PEAKS = 1e-6
"""Difference of two peaks of CAPSys's queries that is rounding: far below the percents that are compared."""

EQUAL_SHARES = 1e-9
"""Difference of two shares of traffic in a report that is rounding; absolute."""

PAPER_OPTIMUM = 1e-7
"""Gap up to which an answer of a search counts as the optimum in a paper's table: far below the percents that are printed."""

BENCHMARK_OPTIMUM = 1e-6
"""Gap up to which an answer of a benchmark is optimal: the usual tolerance of solvers, whose answers are compared."""

RECHECKED_VALUE = 1e-6
"""Difference between a stored result and the best known that is rounding; as `BENCHMARK_OPTIMUM`, so that alarms are real."""

EQUAL_GAPS = 1e-9
"""Difference of gaps up to which two methods tie; absolute, as large as the gap of a proof."""

MIN_PLOTTED_SECONDS = 1e-6
"""Shorter times count as this one where they are divided or drawn: a logarithmic axis has no 0."""

PROVEN_OPTIMA_AGREEMENT = 1e-8
"""Difference, absolute below 1, of two proven optima, or of an objective before and after it is written: ten gaps of a proof."""

DIFFERENT_OPTIMA = 1e-6
"""Relative difference of two optima of the fuzzer's programs, beyond the tolerances of both solvers."""

CORRUPTED_CLAIM, CORRUPTED_VALUE = 1.1e-6, 2e-9
"""How far a changed solution that is still accepted may claim from the optimum, and from the value of its own decision:
as far as `edrp check` lets it, and rounding.
"""
