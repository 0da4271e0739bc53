//! What is written is read back as it was.

use super::*;
use crate::workload::testing::{folder, read_text};
use crate::workload::{Curve, Options, Rising, TraceJob, Trial, Workload, read};
use heeler_model::{Demand, JobSpec, Time};

const ALL: &str = "\
id,submit_s,gpus,duration_s,steps,rates,tenant,model,priority,min_gpus,max_gpus,step,share,kinds,\
gpu_memory_mb,cpus,memory_mb,reach,skewed,declared_s,deadline_s,after,start_s,name,busy
a,0,4,100.000001,,,lab/ann,\"bert, large\",-3,2,16,powers-of-two,0.5,v100|k80,8000,2.5,4096,rack,1,\
250,150:9|200,,7.5,\"fine, tuned\",0.125
#b,5,8,,1e6,v100=20.25|k80=0,,,,,32,multiples-of-8,0.125,,,,,node,,none,300,a|c,,,
c,2,1,33,1000,,other,bert,,,,,,,,,,,,,,,,,0
d,3,1,,1000,v100=3|k80=7,,,,,,,,k80,,,,,,9.25,,,,,
,6,0,12,,,,,,,,,,,,0.5,64,,,,,,,,
";

fn cluster() -> Cluster {
    crate::cluster::parse("2x8:v100+2x8:k80").expect("a cluster")
}

fn written(format: Format, trace: &Trace, cluster: &Cluster) -> String {
    let mut out = Vec::new();
    write_to(&mut out, format, trace, cluster).expect("written");
    String::from_utf8(out).expect("text")
}

#[test]
fn both_formats_come_back_as_they_were() {
    let mut first = cluster();
    let options = Options::default();
    let text = ALL.replace("\n#b", "\n\"#b\"");
    let trace = read_text("t.csv", &text, &options, &mut first).expect("a trace");
    assert_eq!(trace.jobs().len(), 5);
    for (format, name) in [(Format::Csv, "t.csv"), (Format::Jsonl, "t.jsonl")] {
        let text = written(format, &trace, &first);
        let mut second = cluster();
        let back = read_text(name, &text, &options, &mut second).expect("read back");
        assert_eq!(back.jobs(), trace.jobs(), "{text}");
        assert_eq!(back.models, trace.models);
        assert_eq!(second, first, "the same tenants");
        assert_eq!(written(format, &back, &second), text);
    }
}

#[test]
fn jobs_keep_the_batches_they_go_through() {
    let mut first = cluster();
    let stages = "\"32:100:v100=10,k80=2.5|64:50:v100=8,k80=0\"";
    let header = "submit_s,gpus,steps,rates,epochs,stages,due,grows,alone_s,epoch_s";
    let text = format!("{header}\n0,1,400,v100=10|k80=2.5,4,{stages},0:0|2:1,1,32.5,10|6.25\n");
    let trace = read_text("t.csv", &text, &Options::default(), &mut first).expect("a trace");
    for (format, name) in [(Format::Csv, "t.csv"), (Format::Jsonl, "t.jsonl")] {
        let text = written(format, &trace, &first);
        let back = read_text(name, &text, &Options::default(), &mut cluster()).expect("read back");
        assert_eq!(back.jobs(), trace.jobs(), "{text}");
    }
}

#[test]
fn users_are_kept() {
    let mut first = cluster();
    let text = "submit_s,gpus,duration_s,tenant,user\n\
                0,1,10,lab,ann\n1,1,10,lab,bob\n2,1,10,,ann\n3,1,10,lab,\n4,1,10,,\n\
                5,1,10,default,eve\n";
    let trace = read_text("t.csv", text, &Options::default(), &mut first).expect("a trace");
    assert_eq!(written(Format::Csv, &trace, &first), text, "as it was");
    let text = written(Format::Jsonl, &trace, &first);
    let back = read_text("t.jsonl", &text, &Options::default(), &mut cluster()).expect("read back");
    assert_eq!((back.jobs(), &back.users), (trace.jobs(), &trace.users), "{text}");
}

#[test]
fn only_columns_in_use_are_written() {
    let mut cluster = cluster();
    let text = "submit_s,gpus,duration_s,tenant,priority\n0.25,4,60,,0\n1,2,30,,0\n";
    let trace = read_text("t.csv", text, &Options::default(), &mut cluster).expect("a trace");
    let text = written(Format::Csv, &trace, &cluster);
    assert_eq!(text, "submit_s,gpus,duration_s\n0.25,4,60\n1,2,30\n");
    let text = written(Format::Jsonl, &trace, &cluster);
    assert_eq!(text.lines().next(), Some("{\"submit_s\":0.25,\"gpus\":4,\"duration_s\":60}"));
    let none = Trace::default();
    assert_eq!(written(Format::Csv, &none, &cluster), "submit_s,gpus,duration_s\n");
}

fn job(name: Option<&str>, after: &[u32]) -> TraceJob {
    let mut spec = JobSpec::new(Demand::gpus(1));
    if !after.is_empty() {
        spec.extras_mut().after = after.iter().map(|id| heeler_model::JobId(*id)).collect();
    }
    TraceJob { name: name.map(Into::into), ..TraceJob::new(Time::ZERO, spec) }
}

#[test]
fn jobs_that_others_wait_for_get_names_of_their_own() {
    let jobs = vec![job(None, &[]), job(Some("x"), &[]), job(Some("x"), &[]), job(None, &[0, 2])];
    let trace = Trace { workload: Workload::new(jobs), ..Trace::default() };
    let text = written(Format::Csv, &trace, &cluster());
    let ends: Vec<_> =
        text.lines().map(|line| (line.split(',').next(), line.split(',').next_back())).collect();
    assert_eq!(
        ends,
        [
            (Some("id"), Some("after")),
            (Some("0"), Some("")),
            (Some("x"), Some("")),
            (Some("x~2"), Some("")),
            (Some(""), Some("0|x~2")),
        ]
    );
}

#[test]
fn what_cannot_be_said_is_refused() {
    let jobs = vec![job(Some("a|b"), &[]), job(None, &[0])];
    let trace = Trace { workload: Workload::new(jobs), ..Trace::default() };
    let mut out = Vec::new();
    let error = write_to(&mut out, Format::Csv, &trace, &cluster()).expect_err("no such name");
    assert_eq!(
        error.to_string(),
        "job `1`: `a|b` in `after` may not contain `|`, `=` or a line break"
    );
    let error = write_to(&mut out, Format::Swf, &trace, &cluster()).expect_err("not ours");
    assert_eq!(error.to_string(), "traces are written as csv or jsonl, not as `swf`");
}

#[test]
fn files_are_packed_by_their_name() {
    let folder = folder();
    let mut first = cluster();
    let text = "submit_s,gpus,duration_s\n0,4,60\n";
    let trace = read_text("t.csv", text, &Options::default(), &mut first).expect("a trace");
    for name in ["t.csv", "t.csv.gz", "t.jsonl.gz"] {
        let path = folder.join(name);
        write(&path, None, &trace, &first).expect("written");
        let back = read(&path, &Options::default(), &mut cluster()).expect("read back");
        assert_eq!(back.jobs(), trace.jobs(), "{name}");
    }
    let packed = std::fs::read(folder.join("t.csv.gz")).expect("a file");
    assert_eq!(packed[..2], [0x1f, 0x8b]);
    let error = write(&folder.join("t.xls"), None, &trace, &first).expect_err("not ours");
    assert_eq!(error.to_string(), "traces are written as csv or jsonl, not as `.xls`");
    std::fs::remove_dir_all(folder).expect("a folder");
}

mod any_job {
    //! Jobs of all sorts, written and read back.

    use super::*;
    use heeler_model::{
        Deadline, KindSet, Milli, ModelId, Reach, Sizes, Span, Step, TenantId, Truth,
    };
    use proptest::prelude::*;

    fn demands() -> impl Strategy<Value = Demand> {
        let step = prop_oneof![
            Just(Step::Any),
            Just(Step::PowersOfTwo),
            (1u32..9).prop_map(Step::MultiplesOf)
        ];
        let sizes = (0u32..9, 0u32..20, 0u32..20, step).prop_map(|(min, more, most, step)| Sizes {
            asked: min + more,
            min,
            max: min + more + most,
            step,
        });
        let reach = prop_oneof![Just(Reach::Cluster), Just(Reach::Rack), Just(Reach::Node)];
        let kinds = prop_oneof![Just(KindSet::ANY), (1u64..4).prop_map(KindSet)];
        (sizes, 1u32..=1000, kinds, any::<u32>(), any::<u32>(), any::<u32>(), reach).prop_map(
            |(sizes, share, kinds, gpu_memory_mb, cpu_milli, memory_mb, reach)| Demand {
                sizes,
                share: Milli(share),
                kinds,
                gpu_memory_mb,
                cpu_milli,
                memory_mb,
                reach,
            },
        )
    }

    fn trials() -> impl Strategy<Value = Option<Box<Trial>>> {
        let rising = (any::<i32>(), 1e-3..1e3f64, 1e-9..1.0f64, any::<u32>()).prop_map(
            |(limit, tau, noise, seed)| {
                Curve::Rising(Rising { limit: f64::from(limit) / 3.0, tau, noise, seed })
            },
        );
        let scores = proptest::collection::vec(-1e9..1e9f64, 1..4);
        let listed = scores.prop_map(|scores| Curve::Listed(scores.into()));
        let curve = prop_oneof![rising, listed];
        let trial = ("[a-z|=]{1,3}", curve)
            .prop_map(|(study, curve)| Box::new(Trial { study: study.into(), curve }));
        proptest::option::of(trial)
    }

    /// Work and pace: a duration, steps at a pace, or steps at a rate for each kind.
    fn jobs() -> impl Strategy<Value = TraceJob> {
        let span = 0u64..1_000_000_000_000_000;
        let work = prop_oneof![
            span.clone().prop_map(|micros| (micros as f64, 1.0, Vec::new())),
            (0.0..1e9f64, 1e-3..1e9f64).prop_map(|(steps, rate)| (steps, rate / 1e6, Vec::new())),
            (0.0..1e9f64, 1e-3..1e9f64, 1e-3..1e9f64).prop_map(|(steps, first, second)| {
                (steps, f64::max(first, second) / 1e6, vec![first, second])
            }),
        ];
        let few = (any::<i32>(), any::<bool>(), 0u16..3, 0u16..3);
        let times = (span.clone(), proptest::option::of(span.clone()), proptest::option::of(span));
        let deadlines = proptest::collection::vec((0u64..1_000_000_000, any::<i64>()), 0..3);
        (demands(), work, few, times, deadlines, "[ -~]{0,6}", trials()).prop_map(
            |(mut demand, work, few, times, deadlines, name, trial)| {
                let (work, pace, rates) = work;
                let has_rates = !rates.is_empty();
                if !rates.is_empty() {
                    demand.kinds = KindSet::ANY;
                }
                let mut spec = JobSpec::new(demand).with_truth(Truth { work });
                spec.nominal_pace = pace;
                (spec.priority, spec.skewed) = (few.0, few.1);
                (spec.tenant, spec.model) = (TenantId(few.2), ModelId(few.3));
                let submit = Time::from_micros(times.0);
                spec.declared = times.1.map(Span::from_micros);
                let mut deadlines: Vec<Deadline> = deadlines
                    .into_iter()
                    .map(|(after, value)| Deadline { at: submit + Span::from_micros(after), value })
                    .collect();
                deadlines.sort_unstable();
                if !rates.is_empty() || !deadlines.is_empty() {
                    let extras = spec.extras_mut();
                    (extras.rates, extras.deadlines) = (rates, deadlines);
                }
                let name = Some(name.trim()).filter(|name| !name.is_empty()).map(Into::into);
                let start_cost = times.2.map(Span::from_micros);
                // A trial counts iterations, and so it has steps.
                let trial = trial.filter(|_| pace != 1.0 || has_rates);
                if trial.is_some() {
                    spec.extras_mut().study = Some(heeler_model::StudyId(0));
                }
                TraceJob { name, start_cost, trial, ..TraceJob::new(submit, spec) }
            },
        )
    }

    proptest! {
        #[test]
        fn any_job_comes_back_as_it_was(job in jobs()) {
            let mut cluster = cluster();
            cluster.tenants.push(heeler_model::Tenant::named("lab, \"east\""));
            cluster.tenants.push(heeler_model::Tenant::named("lab/ann"));
            let mut trace = Trace { workload: Workload::new(vec![job]), ..Trace::default() };
            for model in ["", "a|b", "ü #2"] {
                trace.models.number(model);
            }
            for (format, name) in [(Format::Csv, "t.csv"), (Format::Jsonl, "t.jsonl")] {
                let text = written(format, &trace, &cluster);
                let mut again = cluster.clone();
                let options = Options { format: Some(format), ..Options::default() };
                let back = read_text(name, &text, &options, &mut again).expect("read back");
                let mut back_job = back.jobs()[0].clone();
                let before = &trace.jobs()[0];
                prop_assert_eq!(back.models.name(back_job.spec.model.index()),
                    trace.models.name(before.spec.model.index()));
                back_job.spec.model = before.spec.model;
                prop_assert_eq!(&back_job, before, "{}", text);
                prop_assert_eq!(&again, &cluster);
            }
        }
    }
}
