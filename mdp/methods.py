"""Methods for migrations: single steps, sequences known beforehand, and steps that prepare for what will probably follow."""

from edrp.mdp.fitted.method import FittedMethod
from edrp.mdp.policy.methods import Pmc, StoredPolicy
from edrp.mdp.sequence.method import Oms
from edrp.mdp.single_step.ssm import Ssm

METHODS = (Ssm(), Oms(), Pmc(), StoredPolicy(), FittedMethod())
"""For the registry."""
