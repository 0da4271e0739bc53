//! What tenants had, beside what they were entitled to: the part of the GPUs that is theirs by
//! weight, as far as they want it, with what others leave shared out by weight again.

use heeler_model::{Cluster, TenantId, Time};
use serde::{Deserialize, Serialize};

/// So many points over time are kept, at most.
const POINTS: usize = 128;
/// With more tenants than this nobody reads it.
const TENANTS_MAX: usize = 64;
/// Thousandths × microseconds in an hour of one GPU.
const GPU_HOUR: f64 = 3600.0 * 1e6 * 1e3;

/// What one tenant had and was entitled to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantShare {
    /// Which tenant.
    pub name: String,
    /// Its quota, or its weight if nobody has a quota.
    pub weight: u32,
    /// GPU time it had, hours.
    pub had_gpu_hours: f64,
    /// GPU time it was entitled to, hours.
    pub due_gpu_hours: f64,
    /// The one over the other; one, if it never wanted anything.
    pub ratio: f64,
    /// GPU time it would have had more with what the best-off other had, by weight, while it
    /// wanted more, hours.
    pub envy_gpu_hours: f64,
    /// How long each of the points below stands for, seconds.
    pub point_s: f64,
    /// What it had and what it was entitled to over time, mean GPUs.
    pub over_time: Vec<(f64, f64)>,
}

/// Sums of one tenant, thousandths of a GPU × microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    had: f64,
    due: f64,
    envy: f64,
}

/// Counts as time passes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entitled {
    /// Tenants that nobody is above, with their weights; none where there are fewer than two.
    tenants: Vec<(TenantId, f64)>,
    /// Which of them each tenant belongs to.
    root: Vec<usize>,
    /// What each wants and has now, and is entitled to, thousandths.
    wants: Vec<f64>,
    has: Vec<f64>,
    due: Vec<f64>,
    /// What each wants for its weight, and all of them, those first who want least of it, as they
    /// were the last time: from one time to the next hardly anybody changes place.
    by_weight: Vec<f64>,
    order: Vec<usize>,
    /// What there was to share when that was reckoned.
    there: f64,
    /// Whether what they are entitled to has to be reckoned anew.
    stale: bool,
    sums: Vec<Sums>,
    points: Vec<Vec<(f64, f64)>>,
    point_us: u64,
    last: Time,
}

impl Entitled {
    pub(crate) fn new(cluster: &Cluster) -> Entitled {
        let tops = cluster.tenants.iter().enumerate().filter(|(_, it)| it.parent.is_none());
        let quotas = cluster.tenants.iter().any(|tenant| tenant.quota.is_some());
        let weight = |tenant: &heeler_model::Tenant| match quotas {
            true => tenant.quota.unwrap_or(0),
            false => tenant.weight,
        };
        let tenants: Vec<(TenantId, f64)> =
            tops.map(|(index, it)| (TenantId(index as u16), f64::from(weight(it)))).collect();
        if !(2..=TENANTS_MAX).contains(&tenants.len()) {
            return Entitled::default();
        }
        let top_of = |mut id: TenantId| {
            while let Some(parent) = cluster.tenants[id.index()].parent {
                id = parent;
            }
            tenants.iter().position(|(top, _)| *top == id).unwrap_or(0)
        };
        let root = (0..cluster.tenants.len()).map(|id| top_of(TenantId(id as u16))).collect();
        let none = vec![0.0; tenants.len()];
        Entitled {
            root,
            wants: none.clone(),
            has: none.clone(),
            due: none.clone(),
            by_weight: none,
            order: (0..tenants.len()).collect(),
            there: 0.0,
            stale: false,
            sums: vec![Sums::default(); tenants.len()],
            points: vec![Vec::new(); tenants.len()],
            point_us: 1_000_000,
            last: Time::ZERO,
            tenants,
        }
    }

    /// Count from a time on.
    pub(crate) fn begin(&mut self, now: Time) {
        self.last = now;
    }

    /// A tenant wants so many GPUs more, or fewer.
    pub(crate) fn wants(&mut self, tenant: TenantId, gpus: f64) {
        if let Some(top) = self.root.get(tenant.index()) {
            self.wants[*top] += gpus * 1000.0;
            self.by_weight[*top] = self.wants[*top] / weight(&self.tenants[*top]);
            self.stale = true;
        }
    }

    /// A tenant has so many thousandths of GPUs more, or fewer.
    pub(crate) fn has(&mut self, tenant: TenantId, milli: f64) {
        if let Some(top) = self.root.get(tenant.index()) {
            self.has[*top] = (self.has[*top] + milli).max(0.0);
        }
    }

    /// Time has passed, with so many thousandths of GPUs there.
    pub(crate) fn until(&mut self, now: Time, there_milli: f64) {
        if self.tenants.is_empty() || now == self.last {
            return;
        }
        if std::mem::take(&mut self.stale) || self.there != there_milli {
            self.there = there_milli;
            self.share();
        }
        let span = now.since(self.last).micros() as f64;
        // Whoever is owed nothing by weight is nobody's measure.
        let heavy = |index: &usize| self.tenants[*index].1 > 0.0;
        let by_weight = |index: usize| self.has[index] / self.tenants[index].1;
        let best = (0..self.has.len()).filter(heavy).map(by_weight).fold(0.0, f64::max);
        for (index, sums) in self.sums.iter_mut().enumerate() {
            let (has, weight) = (self.has[index], self.tenants[index].1);
            let more = (best * weight).min(self.wants[index]) - has;
            sums.had += has * span;
            sums.due += self.due[index] * span;
            sums.envy += more.max(0.0) * span;
        }
        self.draw(now);
        self.last = now;
    }

    /// Everybody's part by weight, and no more than they want; what they leave goes to the others
    /// by weight, and at last to those without any.
    fn share(&mut self) {
        let Entitled { tenants, wants, due, by_weight, order, .. } = self;
        // Whoever wants the least for its weight is served in full first, if at all.
        order.sort_unstable_by(|a, b| by_weight[*a].total_cmp(&by_weight[*b]).then(a.cmp(b)));
        due.fill(0.0);
        let mut left = self.there;
        for heavy in [true, false] {
            let hungry = order.iter().copied();
            let hungry = hungry.filter(|at| (tenants[*at].1 > 0.0) == heavy && wants[*at] > 0.0);
            let mut weights: f64 = hungry.clone().map(|at| weight(&tenants[at])).sum();
            for at in hungry {
                let part = (left * weight(&tenants[at]) / weights).min(wants[at]);
                due[at] = part;
                left -= part;
                weights -= weight(&tenants[at]);
            }
        }
    }

    /// Add to the points since the last time.
    fn draw(&mut self, now: Time) {
        while now.micros() > self.point_us * POINTS as u64 {
            self.point_us *= 2;
            let both = |pair: &[(f64, f64)]| {
                pair.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1))
            };
            for points in &mut self.points {
                *points = points.chunks(2).map(both).collect();
            }
        }
        let mut from = self.last.micros();
        while from < now.micros() {
            let index = (from / self.point_us) as usize;
            let end = ((index as u64 + 1) * self.point_us).min(now.micros());
            let span = (end - from) as f64;
            for (at, points) in self.points.iter_mut().enumerate() {
                if points.len() <= index {
                    points.resize(index + 1, (0.0, 0.0));
                }
                points[index].0 += self.has[at] * span;
                points[index].1 += self.due[at] * span;
            }
            from = end;
        }
    }

    /// The result.
    pub(crate) fn shares(&self, cluster: &Cluster) -> Vec<TenantShare> {
        let share = |(index, (tenant, weight)): (usize, &(TenantId, f64))| {
            let sums = self.sums[index];
            let width = self.point_us as f64 * 1000.0;
            TenantShare {
                name: cluster.tenants[tenant.index()].name.clone(),
                weight: *weight as u32,
                had_gpu_hours: sums.had / GPU_HOUR,
                due_gpu_hours: sums.due / GPU_HOUR,
                ratio: if sums.due > 0.0 { sums.had / sums.due } else { 1.0 },
                envy_gpu_hours: sums.envy / GPU_HOUR,
                point_s: self.point_us as f64 / 1e6,
                over_time: self.points[index].iter().map(|p| (p.0 / width, p.1 / width)).collect(),
            }
        };
        let all = self.tenants.iter().enumerate().map(share);
        all.filter(|share| share.had_gpu_hours > 0.0 || share.due_gpu_hours > 0.0).collect()
    }
}

/// The weight of a tenant among those who have some, or among those who have none.
fn weight((_, weight): &(TenantId, f64)) -> f64 {
    if *weight > 0.0 { *weight } else { 1.0 }
}

/// How unequal values are: zero if all are the same, near one if one has everything (Gini).
pub fn gini(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|value| value.max(0.0)).collect();
    sorted.sort_by(f64::total_cmp);
    let (count, sum) = (sorted.len() as f64, sorted.iter().sum::<f64>());
    if sum <= 0.0 {
        return 0.0;
    }
    let ranked: f64 = sorted.iter().enumerate().map(|(at, value)| (at as f64 + 1.0) * value).sum();
    (2.0 * ranked / (count * sum) - (count + 1.0) / count).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::Tenant;

    fn three() -> Cluster {
        let mut cluster = Cluster::uniform(1, 12);
        cluster.tenants = ["a", "b", "c"].map(Tenant::named).to_vec();
        cluster.tenants[1].weight = 2;
        cluster
    }

    fn shared(cluster: &Cluster, wants: [f64; 3]) -> Vec<f64> {
        let mut entitled = Entitled::new(cluster);
        for (tenant, gpus) in wants.into_iter().enumerate() {
            entitled.wants(TenantId(tenant as u16), gpus / 1000.0);
        }
        entitled.there = 12.0;
        entitled.share();
        entitled.due
    }

    #[test]
    fn what_one_does_not_want_goes_to_the_others_by_weight() {
        let cluster = three();
        assert_eq!(shared(&cluster, [99.0, 99.0, 99.0]), [3.0, 6.0, 3.0]);
        assert_eq!(shared(&cluster, [99.0, 99.0, 0.0]), [4.0, 8.0, 0.0]);
        assert_eq!(shared(&cluster, [99.0, 2.0, 1.0]), [9.0, 2.0, 1.0]);
        assert_eq!(shared(&cluster, [1.0, 2.0, 1.0]), [1.0, 2.0, 1.0]);
    }

    #[test]
    fn without_quota_there_is_what_the_others_leave() {
        let mut cluster = three();
        cluster.tenants[0].quota = Some(8);
        cluster.tenants[1].quota = Some(4);
        assert_eq!(shared(&cluster, [99.0, 99.0, 99.0]), [8.0, 4.0, 0.0]);
        assert_eq!(shared(&cluster, [2.0, 3.0, 99.0]), [2.0, 3.0, 7.0]);
    }

    #[test]
    fn who_had_less_than_its_part_envies_who_had_more() {
        let cluster = three();
        let mut entitled = Entitled::new(&cluster);
        for (tenant, gpus) in [(0, 12.0), (1, 12.0)] {
            entitled.wants(TenantId(tenant), gpus);
        }
        // For two hours a has eight and b four, whose weight is twice as large.
        entitled.has = vec![8000.0, 4000.0, 0.0];
        entitled.until(Time::from_secs(7200), 12_000.0);
        let shares = entitled.shares(&cluster);
        assert_eq!(shares.len(), 2, "c never wanted anything");
        assert_eq!((shares[0].had_gpu_hours, shares[0].due_gpu_hours), (16.0, 8.0));
        assert_eq!((shares[1].had_gpu_hours, shares[1].due_gpu_hours), (8.0, 16.0));
        assert_eq!((shares[0].ratio, shares[1].ratio), (2.0, 0.5));
        // With as much for its weight as a, b would have all that it wants.
        assert_eq!((shares[0].envy_gpu_hours, shares[1].envy_gpu_hours), (0.0, 16.0));
        let drawn: f64 = shares[1].over_time.iter().map(|point| point.0).sum();
        assert!((drawn * shares[1].point_s / 3600.0 - 8.0).abs() < 1e-9, "{drawn}");
    }

    #[test]
    fn inequality_is_zero_among_equals_and_near_one_if_one_has_all() {
        assert_eq!(gini(&[2.0, 2.0, 2.0]), 0.0);
        assert_eq!(gini(&[0.0, 0.0, 0.0, 4.0]), 0.75);
        assert!((gini(&[1.0, 2.0, 3.0]) - 2.0 / 9.0).abs() < 1e-12);
        assert_eq!(gini(&[]), 0.0);
    }
}
