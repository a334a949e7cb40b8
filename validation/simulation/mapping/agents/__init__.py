"""Message by message reference of the mapping protocol (bi-modal networks, sections 3 and 4), with which `Flood` is compared.

`MapAgent` knows its own server and answers a message with messages; `Exchange` carries them, counts them and keeps the time, for
any number of tasks at once, which reserve what they take by probes; `run_protocol` maps one task.

Points that the paper's Algs. 1-3 leave open or get wrong, and the solutions here:

* The loop over components put on a server ends at all that are left, not one before: else the last one has no place.
* A server that sends nothing on acknowledges at once: else the end is never detected.
* A server that has sent its final acknowledgement keeps its table of costs until the portal knows the decision; maps that come
  back later would be sent over and over. Then the word to forget follows the ways of the specification.
* The specification travels with the first map from one server to another. A server that gets a map that has overtaken it asks.
* Maps over the public network are counted, specified and bounded as all others; the source may send them; the receiver
  puts a component there, or drops the map.
* Complete maps are kept at the delivery, not extended, and components must fit together with those
  that the same map has put on a server before.
* Tables hold exact keys, from infinity on, for every prefix, none included; what passes is strictly better. Load-balance
  factors within 0.1 count as equal when the delivery ranks complete maps, not before: such equality is not transitive.
"""
