//! Whom a job runs as: looked up, and put on for as long as files are opened for them.

use super::environment::Person;
use heeler_backend::Identity;
use nix::unistd::{Gid, Uid, User, getegid, geteuid, getgrouplist, setegid, seteuid, setgroups};
use std::ffi::CString;
use std::io;

/// Whom a job runs as; nobody else, if its shepherd may not choose or need not.
pub(super) fn find(identity: Option<Identity>) -> io::Result<Option<Person>> {
    let Some(identity) = identity.filter(|identity| {
        geteuid().is_root() && (identity.uid != 0 || identity.gid != getegid().as_raw())
    }) else {
        return Ok(None);
    };
    let (uid, gid) = (identity.uid, identity.gid);
    let user = User::from_uid(Uid::from_raw(uid))?;
    let name = user.as_ref().map_or_else(|| uid.to_string(), |user| user.name.clone());
    let groups = match &user {
        Some(user) => {
            let name = CString::new(user.name.as_str())?;
            let groups = getgrouplist(&name, Gid::from_raw(gid))?;
            groups.into_iter().map(Gid::as_raw).collect()
        }
        None => vec![gid],
    };
    let text = |path: &std::path::Path| path.display().to_string();
    let home = user.as_ref().map_or_else(|| "/".to_owned(), |user| text(&user.dir));
    let shell = user.as_ref().map_or_else(|| "/bin/sh".to_owned(), |user| text(&user.shell));
    Ok(Some(Person { uid, gid, groups, name, home, shell }))
}

/// Do something with a person's rights and no more.
pub(super) fn acting_as<T>(
    person: Option<&Person>,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let Some(person) = person else { return act() };
    let groups: Vec<Gid> = person.groups.iter().copied().map(Gid::from_raw).collect();
    setgroups(&groups)?;
    setegid(Gid::from_raw(person.gid))?;
    seteuid(Uid::from_raw(person.uid))?;
    let done = act();
    // Somebody who could take on these rights can always lay them off again.
    seteuid(Uid::from_raw(0))?;
    setegid(Gid::from_raw(0))?;
    setgroups(&[])?;
    done
}
