//! Heeler's own table, sound and broken.

use super::super::testing::{jobs, read_text, wrong};
use super::super::{Format, Options};
use heeler_model::{
    Cluster, Deadline, JobId, KindId, KindSet, Milli, Reach, Sizes, Span, Step, TenantId, Time,
};

#[test]
fn few_columns_are_enough() {
    let jobs = jobs("submit_s,gpus,duration_s\n10,4,60\n0.5,1,0.25\n");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[0].submit, Time::from_micros(500_000), "jobs are sorted by submission");
    assert_eq!(jobs[0].duration(), Span::from_micros(250_000));
    assert_eq!(jobs[1].spec.demand.sizes, Sizes::rigid(4));
    assert_eq!(jobs[1].spec.declared, Some(Span::from_secs(60)), "the truth, if nothing is said");
    assert_eq!(jobs[1].spec.nominal_pace, 1.0);
}

#[test]
fn every_column_is_read() {
    let text = "\
id,submit_s,gpus,duration_s,tenant,model,priority,min_gpus,max_gpus,step,share,kinds,\
gpu_memory_mb,cpus,memory_mb,reach,skewed,declared_s,deadline_s,after,start_s,x_note
a,0,4,100,lab,bert,-3,2,16,powers-of-two,0.5,gpu,8000,2.5,4096,rack,1,250,200:5|150:9,,7.5,hello
b,5,8,100,lab,bert,,,32,multiples-of-8,250,,,,,node,0,none,300,a,,\n";
    let jobs = jobs(text);
    let (a, b) = (&jobs[0].spec, &jobs[1].spec);
    assert_eq!(a.demand.sizes, Sizes { asked: 4, min: 2, max: 16, step: Step::PowersOfTwo });
    assert_eq!((a.priority, a.skewed, a.demand.reach), (-3, true, Reach::Rack));
    assert_eq!((a.demand.share, b.demand.share), (Milli(500), Milli(250)));
    assert_eq!((a.demand.kinds, b.demand.kinds), (KindSet::only(KindId(0)), KindSet::ANY));
    assert_eq!(
        (a.demand.gpu_memory_mb, a.demand.cpu_milli, a.demand.memory_mb),
        (8000, 2500, 4096)
    );
    assert_eq!((a.declared, b.declared), (Some(Span::from_secs(250)), None));
    let deadline = |at, value| Deadline { at: Time::from_secs(at), value };
    assert_eq!(a.deadlines(), [deadline(150, 9), deadline(200, 5)], "earliest first");
    assert_eq!(b.deadlines(), [deadline(305, 1)], "counted from the submission");
    assert_eq!(b.after(), [JobId(0)]);
    assert_eq!(b.demand.sizes.step, Step::MultiplesOf(8));
    assert_eq!(jobs[0].start_cost, Some(Span::from_micros(7_500_000)));
    assert_eq!(jobs[0].name.as_deref(), Some("a"));
    assert_eq!((a.tenant, a.model), (b.tenant, b.model));
}

#[test]
fn names_and_profiles_are_read() {
    let jobs = jobs("submit_s,gpus,duration_s,name,busy\n0,1,60,train,0.25\n1,1,60,,\n");
    let known = |index: usize| (jobs[index].spec.name(), jobs[index].spec.busy_milli());
    assert_eq!([known(0), known(1)], [(Some("train"), Some(250)), (None, None)]);
    let (error, _) = wrong("submit_s,gpus,duration_s,busy\n0,1,60,1.5\n");
    let found = "expected a number from 0 to 1, found `1.5`";
    assert_eq!(error, format!("t.csv:2: column 4 (`busy`): {found}"));
}

#[test]
fn jobs_may_follow_later_rows() {
    let jobs = jobs(
        "id,submit_s,gpus,duration_s,after\nlate,9,1,1,early|mid\nmid,5,1,1,early\nearly,0,1,1,\n",
    );
    let names: Vec<_> = jobs.iter().map(|job| job.name.as_deref().expect("named")).collect();
    assert_eq!(names, ["early", "mid", "late"]);
    assert_eq!(jobs[2].spec.after(), [JobId(0), JobId(1)]);
}

#[test]
fn steps_go_at_measured_rates() {
    let mut cluster = crate::cluster::parse("1x4:v100+1x4:k80+1x4:p100").expect("a cluster");
    let text =
        "submit_s,gpus,steps,rates,duration_s\n0,1,1000,V100=4|k80=0|h200=9,\n0,1,1000,,50\n";
    let trace = read_text("t.csv", text, &Options::default(), &mut cluster).expect("a trace");
    let (rated, plain) = (&trace.jobs()[0], &trace.jobs()[1]);
    assert_eq!(rated.spec.rates(), [4.0, 0.0, 0.0], "by the cluster's kinds; none is zero");
    assert_eq!(rated.spec.nominal_pace, 4.0 / 1e6);
    assert_eq!(rated.duration(), Span::from_secs(250));
    assert_eq!(rated.spec.demand.kinds, KindSet::only(KindId(0)), "only where it runs");
    assert_eq!(plain.work(), 1000.0);
    assert_eq!(plain.duration(), Span::from_secs(50));
    let text = "submit_s,gpus,steps,rates\n0,1,1000,2.5\n";
    let anywhere = &jobs(text)[0];
    assert_eq!((anywhere.duration(), anywhere.spec.rates().len()), (Span::from_secs(400), 0));
}

#[test]
fn users_can_be_tenants_below_tenants() {
    let text =
        "submit_s,gpus,duration_s,tenant,user\n0,1,1,lab,ann\n0,1,1,lab,bob\n0,1,1,,eve\n0,1,1,,\n";
    for by_user in [false, true] {
        let mut cluster = Cluster::uniform(1, 8);
        let options = Options { by_user, ..Options::default() };
        let trace = read_text("t.csv", text, &options, &mut cluster).expect("a trace");
        let names: Vec<_> = cluster.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        match by_user {
            false => assert_eq!(names, ["default", "lab", "eve"]),
            true => {
                assert_eq!(names, ["default", "lab", "lab/ann", "lab/bob", "eve"]);
                assert_eq!(cluster.tenants[3].parent, Some(TenantId(1)));
            }
        }
        assert_eq!(trace.jobs()[3].spec.tenant, TenantId(0), "the first tenant's, if nobody's");
        assert_eq!(trace.users.all(), ["", "ann", "bob", "eve"]);
        let users: Vec<u32> = trace.jobs().iter().map(|job| job.spec.user.0).collect();
        assert_eq!(users, [1, 2, 3, 0], "whoever the tenant is");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, error) in [
        ("", "t.csv: is empty"),
        ("submit_s,gpus\n0,1\n", "t.csv:2: field `duration_s`: is missing"),
        (
            "submit_s,gpus,duration_s\n0,one,5\n",
            "t.csv:2: column 2 (`gpus`): expected a number, found `one`",
        ),
        (
            "submit_s,gpus,duration_s\n0,1.5,5\n",
            "t.csv:2: column 2 (`gpus`): expected a whole number from 0 on, found `1.5`",
        ),
        (
            "submit_s,gpus,duration_s\n-3,1,5\n",
            "t.csv:2: column 1 (`submit_s`): expected a time from 0 on, found `-3`",
        ),
        (
            "submit_s,gpus,duration_s\n0,1,1e13\n",
            "t.csv:2: column 3 (`duration_s`): expected a time below 1e9 seconds, found `1e13`",
        ),
        ("submit_s,gpus,duration_s,gpus\n0,1,1,1\n", "t.csv:1: column `gpus` occurs twice"),
        (
            "submit_s,gpus,duration_s,step\n0,1,1,multiples-of-0\n",
            "t.csv:2: column 4 (`step`): \
            expected any, powers-of-two or multiples-of-N, found `multiples-of-0`",
        ),
        (
            "submit_s,gpus,duration_s,min_gpus\n0,1,1,2\n",
            "t.csv:2: column 4 (`min_gpus`): 2 is more than `gpus`, which is 1",
        ),
        (
            "submit_s,gpus,duration_s,share\n0,1,1,0\n",
            "t.csv:2: column 4 (`share`): \
            expected a part of a GPU, such as 0.25 or 250, found `0`",
        ),
        (
            "submit_s,gpus,duration_s,deadline_s\n0,1,1,soon\n",
            "t.csv:2: column 4 (`deadline_s`): \
            expected `seconds` or `seconds:value`, found `soon`",
        ),
        ("submit_s,gpus,steps\n0,1,10\n", "t.csv:2: column 3 (`steps`): has no pace"),
        (
            "submit_s,gpus,duration_s,rates\n0,1,1,gpu=3\n",
            "t.csv:2: column 4 (`rates`): needs `steps`: how many of them are to be done",
        ),
        (
            "submit_s,gpus,steps,rates\n0,1,5,gpu:3\n",
            "t.csv:2: column 4 (`rates`): expected steps \
            per second, or `kind=steps per second` joined by `|`, found `gpu:3`",
        ),
        ("submit_s,gpus,duration_s\n0,\"1,5\n", "t.csv:2: a quote is not closed on its line"),
    ] {
        assert_eq!(wrong(text).0, error, "{text}");
    }
}

#[test]
fn jobs_wait_for_others_that_are_there() {
    for (text, error) in [
        (
            "id,submit_s,gpus,duration_s\na,0,1,1\na,0,1,1\n",
            "t.csv:3: field `id`: `a` is already the id of the job in line 2",
        ),
        (
            "id,submit_s,gpus,duration_s,after\na,0,1,1,b\n",
            "t.csv:2: field `after`: no job has the id `b`",
        ),
        (
            "id,submit_s,gpus,duration_s,after\na,0,1,1,b\nb,0,1,1,a\n",
            "t.csv: job `a` must wait, in the end, for itself",
        ),
    ] {
        assert_eq!(wrong(text).0, error, "{text}");
    }
}

#[test]
fn hints_say_what_was_meant() {
    let (error, hint) = wrong("submit_s,gpus,duraton_s\n0,1,1\n");
    assert_eq!(error, "t.csv:1: there is no field `duraton_s`");
    assert_eq!(hint, "did you mean `duration_s`? A field of your own begins with `x_`");
    let (error, hint) = wrong("submit_s,gpus,duration_s,kinds\n0,1,1,gpuu\n");
    assert_eq!(
        error,
        "t.csv:2: column 4 (`kinds`): kind `gpuu` is not in the cluster, which has: gpu"
    );
    assert_eq!(hint, "did you mean `gpu`?");
}

#[test]
fn unknown_kinds_can_be_ignored_or_learnt() {
    let text = "submit_s,gpus,duration_s,kinds\n0,1,1,h100\n";
    let options = Options { any_kind: true, ..Options::default() };
    let trace = read_text("t.csv", text, &options, &mut Cluster::uniform(1, 8)).expect("a trace");
    assert_eq!(trace.jobs()[0].spec.demand.kinds, KindSet::ANY);
    assert_eq!(trace.assumed.total(), 1);
    let mut none = Cluster::default();
    let trace = read_text("t.csv", text, &Options::default(), &mut none).expect("a trace");
    assert_eq!(trace.jobs()[0].spec.demand.kinds, KindSet::only(KindId(0)));
    assert_eq!(none.kinds[0].name, "h100");
}

#[test]
fn all_jobs_can_come_at_once() {
    let text = "id,submit_s,gpus,duration_s,deadline_s\nb,9,1,1,100\na,4,1,1,\n";
    let options = Options { all_at_once: true, ..Options::default() };
    let trace = read_text("t.csv", text, &options, &mut Cluster::uniform(1, 8)).expect("a trace");
    let first = &trace.jobs()[0];
    assert_eq!(first.name.as_deref(), Some("a"), "in the order of submission");
    assert!(trace.jobs().iter().all(|job| job.submit == Time::ZERO));
    assert_eq!(trace.jobs()[1].spec.deadlines()[0].at, Time::from_secs(100));
}

#[test]
fn options_of_other_formats_are_refused() {
    let options = Options { processors_per_gpu: Some(4), ..Options::default() };
    let text = "submit_s,gpus,duration_s\n0,1,1\n";
    let error = read_text("t.csv", text, &options, &mut Cluster::uniform(1, 8));
    let error = error.expect_err("not for this format").to_string();
    assert_eq!(error, "t.csv: is read as `csv`, where option `processors-per-gpu` means nothing");
    let options = Options { format: Some(Format::Csv), ..Options::default() };
    let text = "gpus,duration_s\n1,1\n";
    let error = read_text("t.csv", text, &options, &mut Cluster::uniform(1, 8));
    let error = error.expect_err("submit_s must be given");
    assert_eq!(error.to_string(), "t.csv:1: there is no column `submit_s`");
}
