//! Readers fed with nonsense: whatever stands in a field, they answer with a trace or with an
//! error, and never break.

use super::testing::{folder, read_text};
use super::{Format, Options, Sample, read};
use heeler_model::{Cluster, Span};

/// What people and programs leave in fields.
const NONSENSE: &[&str] = &[
    "",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "NaN",
    "inf",
    "99999999999999999999",
    "4294967295",
    "0x10",
    "\"",
    "\"\"",
    "|",
    "=",
    ":",
    "-",
    "a=b|c=d:e",
    "1:2:3-4-5",
    "gres/gpu=4294967295,gres/gpu:a=4294967295",
    "9999999-99:59:59",
    "2024-02-30T00:00:00",
    "é\u{200b}漢",
];

/// A sound row of each format.
const SOUND: &[(Format, char, &str, &str)] = &[
    (
        Format::Csv,
        ',',
        "id,submit_s,gpus,duration_s,steps,rates,tenant,user,model,priority,min_gpus,max_gpus,\
         step,share,kinds,gpu_memory_mb,cpus,memory_mb,reach,skewed,declared_s,deadline_s,after,\
         start_s,batch,adapts",
        "a,0,1,5,10,gpu=2,t,u,m,1,1,1,any,1,gpu,1,1,1,node,0,5,9:1,,1,8,1",
    ),
    (Format::Philly, ',', "timestamp,duration,num_gpus,cluster", "2020-01-01 00:00:00,60,1,c"),
    (Format::Blox, ',', "job_id,submit,duration,gpus", "0,5,100,1"),
    (Format::Tiresias, ',', "job_id,num_gpu,submit_time,model_name,duration", "0,1,0,net,100"),
    (
        Format::Muri,
        ',',
        "job_id,num_gpu,submit_time,iterations,model_name,iteration_time",
        "0,1,0,10,net,40",
    ),
    (
        Format::Chronus,
        ',',
        "job_id,user,num_gpu,submit_time,duration,model_name,expect_time_list,expect_value_list,\
         best_effort",
        "0,ann,1,5,10,net,20-40,10-5,0",
    ),
    (
        Format::Pai,
        ',',
        "job_id,user,num_gpu,num_cpu,num_inst,submit_time,duration,user_dur,gpu_type",
        "1,a,0.5,4,2,5,30,7,MISC",
    ),
    (
        Format::Openb,
        ',',
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,\
         scheduled_time",
        "a,6000,1000,1,460,gpu,10,110,20",
    ),
    (
        Format::Lucid,
        ',',
        "job_id,user,vc,gpu_num,cpu_num,submit_time,duration,dataset,model,batchsize,amp,gmem",
        "j,u,v,1,4,2020-05-01 00:00:00,60,d,m,64,0,35.5",
    ),
    (Format::Hydra, ',', "job_name,norm_job_submit_time,ddl,gpu", "x,5,inf,100"),
    (
        Format::Acme,
        ',',
        "job_id,arrival_time,num_iteration,iteration_computing_time,gpu_workers,gpu_per_worker,\
         cpu_per_gpu_worker",
        "0,0,100,0.5,2,8.0,16.0",
    ),
    (
        Format::Slurm,
        '|',
        "JobID|User|Account|State|Submit|Elapsed|Timelimit|AllocTRES|Dependency",
        "7|ann|lab|COMPLETED|2024-02-28T23:59:50|00:10:00|01:00:00|cpu=4,gres/gpu=1,mem=4G|",
    ),
    (Format::Swf, ' ', "", "1 0 5 100 8 -1 -1 8 200 2048 1 3 2 7 1 -1 -1 -1"),
];

fn options(format: Format) -> Options {
    let pai = format == Format::Pai;
    Options {
        format: Some(format),
        cpu_jobs: true,
        by_user: true,
        any_kind: true,
        run_time: (format == Format::Openb).then_some(Span::from_secs(1)),
        declared: pai.then(|| "user_dur".to_string()),
        sample: pai.then_some(Sample { count: 1, per_minute: 0, seed: 0 }),
        ..Options::default()
    }
}

#[test]
fn nonsense_in_a_field_breaks_no_reader() {
    for (format, delimiter, header, row) in SOUND {
        let read = |row: &str| {
            let text = format!("{header}\n{row}\n");
            read_text("t", &text, &options(*format), &mut Cluster::uniform(4, 8))
        };
        assert!(read(row).is_ok(), "{format}: {:?}", read(row));
        let fields: Vec<&str> = row.split(*delimiter).collect();
        for place in 0..fields.len() {
            for nonsense in NONSENSE {
                let mut fields = fields.clone();
                fields[place] = nonsense;
                let row = fields.join(&delimiter.to_string());
                if let Ok(trace) = read(&row) {
                    let told = crate::workload::describe(&trace, &Cluster::uniform(4, 8));
                    assert!(told.jobs <= 1, "{format}: {row}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_text_breaks_no_reader() {
    let folder = folder();
    let path = folder.join("t");
    for content in [&b"\xff\xfe\x00"[..], b"submit_s,gpus,duration_s\n\xff,1,1\n", b"\x00\n", b""] {
        std::fs::write(&path, content).expect("a file");
        for format in Format::all() {
            let result = read(&path, &options(format), &mut Cluster::uniform(4, 8));
            assert!(result.is_err(), "{format}: {content:?}");
        }
        assert!(read(&path, &Options::default(), &mut Cluster::uniform(4, 8)).is_err());
    }
    std::fs::write(folder.join("t.csv.gz"), b"not packed").expect("a file");
    let packed = read(&folder.join("t.csv.gz"), &Options::default(), &mut Cluster::uniform(4, 8));
    assert!(packed.expect_err("not packed").message.starts_with("cannot be read"));
    let folder_read = read(&folder, &Options::default(), &mut Cluster::uniform(4, 8));
    assert!(folder_read.is_err());
    std::fs::remove_dir_all(folder).expect("a folder");
}
