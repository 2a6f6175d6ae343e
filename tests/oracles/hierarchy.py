"""Hops and feasible sets as their definitions read: one class, one node, one step at a time."""

from collections import deque


def neighbour_lists(edges):
    neighbours = {}
    for one, other in edges:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    return neighbours


def distances(neighbours, start):
    """Number of edges from start to every node that can be reached."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for neighbour in neighbours.get(node, []):
            if neighbour not in found:
                found[neighbour] = found[node] + 1
                queue.append(neighbour)
    return found


def feasible_set(neighbours, candidates, y, k):
    """S = {y}; grow the radius, add every candidate (a set) at exactly that distance; stop once |S| >= k."""
    S = ring = visited = {y}
    while len(S) < k and ring:
        ring = {neighbour for node in ring for neighbour in neighbours.get(node, [])} - visited
        visited = visited | ring
        S = S | (ring & candidates)
    return S


def hierarchical_precision(neighbours, candidates, true, predicted, k):
    """Mean of |top K and S_K(y)| / K over samples; true names (n,), predicted names (n, at least K)."""
    shares = [
        len(set(top[:k]) & feasible_set(neighbours, candidates, y, k)) / k
        for y, top in zip(true, predicted, strict=True)
    ]
    return sum(shares) / len(shares)


def hops(neighbours, seen, k):
    """All nodes at most k edges from a seen one, without the seen ones."""
    near = {node for start in seen for node, d in distances(neighbours, start).items() if d <= k}
    return near - set(seen)
