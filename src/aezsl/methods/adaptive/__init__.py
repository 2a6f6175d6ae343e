"""AEZSL's idea on other losses: the seen classes that resemble a target count more when it is learnt."""
