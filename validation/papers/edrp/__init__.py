"""EDRP (Cardellini, Lo Presti, Nardelli and Russo Russo): Tables III to V, Figs. 5 and 6."""
