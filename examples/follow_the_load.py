"""Follow a load of your own: what happens to the DEBS application when a burst comes and goes?"""

from edrp.placement.edrp import Weights
from edrp.validation.papers.edrp.experiments import outcome, run_hour

# Tuples per second, minute by minute.
burst = [70, 90, 120, 160, 200, 160, 120, 90, 70]

for weights in (Weights(response_time=0.5, cost=0.5), Weights(response_time=0.3, cost=0.3, downtime=0.4)):
    followed = run_hour(weights, rates=burst)
    result = outcome(followed)
    speed = f"{1e3 * result.response_time:.1f} ms"
    print(f"downtime weighs {weights.downtime:g}: {speed}, {result.cost:.2f} $/h, {result.downtime:.2f} s down")
    for step in followed.reconfigurations:
        print(f"  t = {step.number} min: {step.words}")
