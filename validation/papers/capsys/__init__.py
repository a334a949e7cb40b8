"""CAPSys (Wang et al., EuroSys 2025): six queries next to proven optima, deployments of one of them next to joint optima."""
