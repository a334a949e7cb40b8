"""Builders: how a problem becomes a mixed-integer program.

`literal` is EDRP's own program (eqs. 13–23), `restricted` the same over a neighbourhood of the current
deployment (section 7.2), `compact` a much smaller equivalent. S-EDRP (section 6.4) needs no builder of its
own: it differs in the downtime table alone, which `edrp.placement.reconfiguration` fills with Storm's times. `migration`
is the single migration as a path of intervals.
"""
