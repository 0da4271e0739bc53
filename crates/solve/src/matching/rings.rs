//! Trees and rings of a search for twos: changing who is with whom along a tree, and odd rings that
//! are taken together as one and apart again.

use super::{Edge, NONE, Search, Sign, width_for};

impl Search<'_> {
    fn set_top(&mut self, what: usize, top: usize) {
        self.top[what] = top;
        for at in 0..self.ring[what].len() {
            self.set_top(self.ring[what][at], top);
        }
    }

    /// Where a part is in its blossom's ring, which is turned so that the place is even.
    fn place_in(&mut self, blossom: usize, part: usize) -> usize {
        let ring = &mut self.ring[blossom];
        let at = ring.iter().position(|other| *other == part).expect("a part is in its ring");
        if at.is_multiple_of(2) {
            return at;
        }
        ring[1..].reverse();
        ring.len() - at
    }

    /// Let something be with something else, and what is inside it be matched accordingly.
    fn join(&mut self, one: usize, other: usize) {
        let edge = self.edge(one, other);
        self.with[one] = edge.to as usize;
        if one <= self.members {
            return;
        }
        let part = self.part_of(one, edge.from as usize);
        let place = self.place_in(one, part);
        for at in 0..place {
            let (inner, beside) = (self.ring[one][at], self.ring[one][at ^ 1]);
            self.join(inner, beside);
        }
        self.join(part, other);
        self.ring[one].rotate_left(place);
    }

    /// Change who is with whom from a top up to the root of its tree.
    pub(super) fn swap_up(&mut self, mut one: usize, mut other: usize) {
        loop {
            let before = self.top[self.with[one]];
            self.join(one, other);
            if before == NONE {
                return;
            }
            let above = self.top[self.parent[before]];
            self.join(before, above);
            (one, other) = (above, before);
        }
    }

    /// The nearest top that is above two, if they are in one tree.
    pub(super) fn common(&mut self, mut one: usize, mut other: usize) -> usize {
        self.looks += 1;
        while one != NONE || other != NONE {
            if one != NONE {
                if self.seen[one] == self.looks {
                    return one;
                }
                self.seen[one] = self.looks;
                one = self.top[self.with[one]];
                if one != NONE {
                    one = self.top[self.parent[one]];
                }
            }
            std::mem::swap(&mut one, &mut other);
        }
        NONE
    }

    /// The way from a top up to one above it, without the last; odd ones become even.
    fn way_up(&mut self, from: usize, to: usize) -> Vec<usize> {
        let (mut way, mut at) = (Vec::new(), from);
        while at != to {
            let odd = self.top[self.with[at]];
            way.extend([at, odd]);
            self.enqueue(odd);
            at = self.top[self.parent[odd]];
        }
        way
    }

    /// Two even tops of one tree are joined by a tight edge: their ring becomes one top.
    pub(super) fn close_ring(&mut self, one: usize, above: usize, other: usize) {
        let free = (self.members + 1..=self.used).find(|at| self.top[*at] == NONE);
        let blossom = free.unwrap_or(self.used + 1);
        self.used = self.used.max(blossom);
        self.price[blossom] = 0.0;
        self.sign[blossom] = Sign::Even;
        self.with[blossom] = self.with[above];
        let mut down = self.way_up(one, above);
        down.reverse();
        let up = self.way_up(other, above);
        let ring = std::iter::once(above).chain(down).chain(up);
        self.ring[blossom] = ring.collect();
        self.set_top(blossom, blossom);
        self.take_edges(blossom);
        self.find_nearest(blossom);
    }

    /// A blossom has the tightest edges of its parts.
    fn take_edges(&mut self, blossom: usize) {
        let (width, row) = (width_for(self.members), self.members + 1);
        let number = blossom - row;
        if self.part.len() <= number * row {
            self.part.resize((number + 1) * row, NONE);
            self.edges.resize((number + 1) * width, Edge::default());
        }
        let mut own = vec![Edge::default(); self.used + 1];
        let mut in_part = vec![NONE; row];
        for index in 0..self.ring[blossom].len() {
            let part = self.ring[blossom][index];
            for (at, own) in own.iter_mut().enumerate().skip(1).filter(|(at, _)| *at != blossom) {
                let new = self.edge(part, at);
                if !own.there || self.gap(new) < self.gap(*own) {
                    *own = new;
                }
            }
            for (member, within) in in_part.iter_mut().enumerate().skip(1) {
                if self.part_of(part, member) != NONE {
                    *within = part;
                }
            }
        }
        for (above, &Edge { from, to, there }) in own[row..].iter().enumerate() {
            self.edges[above * width + blossom] = Edge { from: to, to: from, there };
        }
        self.edges[number * width..][..own.len()].copy_from_slice(&own);
        self.part[number * row..][..row].copy_from_slice(&in_part);
    }

    /// An odd blossom whose price has fallen to nothing is taken apart: the even way through it
    /// stays in the tree.
    pub(super) fn open_ring(&mut self, blossom: usize) {
        for index in 0..self.ring[blossom].len() {
            let part = self.ring[blossom][index];
            self.set_top(part, part);
        }
        let entry = self.edge(blossom, self.parent[blossom]).from as usize;
        let first = self.part_of(blossom, entry);
        let place = self.place_in(blossom, first);
        for at in (0..place).step_by(2) {
            let (odd, even) = (self.ring[blossom][at], self.ring[blossom][at + 1]);
            self.parent[odd] = self.edge(even, odd).from as usize;
            (self.sign[odd], self.sign[even]) = (Sign::Odd, Sign::Even);
            self.nearest[odd] = NONE;
            self.find_nearest(even);
            self.enqueue(even);
        }
        (self.sign[first], self.parent[first]) = (Sign::Odd, self.parent[blossom]);
        for at in place + 1..self.ring[blossom].len() {
            let part = self.ring[blossom][at];
            self.sign[part] = Sign::Out;
            self.find_nearest(part);
        }
        self.top[blossom] = NONE;
    }
}
