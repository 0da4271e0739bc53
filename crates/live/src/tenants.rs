//! Tenants, their users, and tokens. A tenant is made by an admin; whoever belongs to none belongs
//! to `default`.

use crate::ask::Done;
use crate::live::Live;
use heeler_api::{Code, Problem, Role, TenantChange, TokenRequest, Who};
use heeler_model::{Event, Tenant, TenantId, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Who jobs belong to whose users belong to nobody.
pub(crate) const DEFAULT: &str = "default";
/// Where the engine counts best-effort jobs: nobody vouches for what it uses.
pub(crate) const BEST_EFFORT: &str = "best-effort";

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantState {
    pub(crate) spec: Tenant,
    pub(crate) users: BTreeSet<String>,
}

/// A token, of whose secret only a hash is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) hash: String,
    pub(crate) user: String,
    pub(crate) role: Role,
    pub(crate) tenants: Vec<String>,
    pub(crate) expires: Option<Time>,
}

/// Tenants by number, and tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct People {
    pub(crate) tenants: Vec<TenantState>,
    pub(crate) names: BTreeMap<String, TenantId>,
    pub(crate) tokens: BTreeMap<u32, Token>,
    by_hash: BTreeMap<String, u32>,
    tokens_made: u32,
}

impl People {
    /// The two tenants that are always there.
    pub(crate) fn first() -> People {
        let mut people = People {
            tenants: Vec::new(),
            names: BTreeMap::new(),
            tokens: BTreeMap::new(),
            by_hash: BTreeMap::new(),
            tokens_made: 0,
        };
        people.add(Tenant::named(DEFAULT));
        people.add(Tenant::named(BEST_EFFORT));
        people
    }

    fn add(&mut self, spec: Tenant) -> TenantId {
        let id = TenantId(self.tenants.len() as u16);
        self.names.insert(spec.name.clone(), id);
        self.tenants.push(TenantState { spec, users: BTreeSet::new() });
        id
    }

    pub(crate) fn cluster_tenants(&self) -> Vec<Tenant> {
        self.tenants.iter().map(|tenant| tenant.spec.clone()).collect()
    }

    pub(crate) fn name(&self, tenant: TenantId) -> &str {
        self.tenants.get(tenant.index()).map_or("", |tenant| &tenant.spec.name)
    }

    /// The tenant of a name, if people may name it.
    pub(crate) fn find(&self, name: &str) -> Option<TenantId> {
        self.names.get(name).copied().filter(|_| name != BEST_EFFORT)
    }

    pub(crate) fn spec(&self, tenant: TenantId) -> &Tenant {
        &self.tenants[tenant.index()].spec
    }

    /// The tenant and those it is part of, innermost first.
    pub(crate) fn lineage(&self, tenant: TenantId) -> impl Iterator<Item = TenantId> + '_ {
        std::iter::successors(Some(tenant), |t| self.tenants.get(t.index())?.spec.parent)
    }

    /// Whether somebody may know of what is a tenant's.
    pub(crate) fn may_see(&self, who: &Who, tenant: TenantId) -> bool {
        if who.role >= Role::Operator && who.tenants.is_empty() {
            return true;
        }
        self.lineage(tenant).any(|above| who.tenants.iter().any(|name| name == self.name(above)))
    }

    /// Where the engine counts a best-effort job: where nobody vouches for what it uses, unless its
    /// tenant has a limit, which holds for everything it uses.
    pub(crate) fn best_effort(&self, tenant: TenantId) -> TenantId {
        let limited = self.lineage(tenant).any(|above| self.spec(above).limit.is_some());
        if limited { tenant } else { self.names[BEST_EFFORT] }
    }

    /// The tenants that a user belongs to.
    fn of(&self, user: &str) -> Vec<String> {
        let theirs = self.tenants.iter().filter(|tenant| tenant.users.contains(user));
        theirs.map(|tenant| tenant.spec.name.clone()).collect()
    }
}

/// What is changed of a tenant, in words.
fn changes(change: &TenantChange) -> Vec<String> {
    let amount = |name: &str, gpus: Option<u32>| match gpus {
        Some(gpus) => format!("{name} {gpus}"),
        None => format!("no {name}"),
    };
    let mut words = Vec::new();
    words.extend(change.parent.as_ref().map(|parent| format!("part of {parent}")));
    words.extend(change.weight.map(|weight| format!("weight {weight}")));
    words.extend(change.quota.map(|quota| amount("quota", quota)));
    words.extend(change.limit.map(|limit| amount("limit", limit)));
    words.extend(change.add_users.iter().map(|user| format!("with {user}")));
    words.extend(change.remove_users.iter().map(|user| format!("without {user}")));
    words
}

impl Live {
    /// Who a bearer token stands for.
    pub fn token(&self, hash: &str, at: Time) -> Option<Who> {
        let token = &self.people.tokens[self.people.by_hash.get(hash)?];
        if token.expires.is_some_and(|expires| at >= expires) {
            return None;
        }
        let mut tenants = token.tenants.clone();
        if tenants.is_empty() && token.role < Role::Operator {
            tenants = self.belongs_to(&token.user);
        }
        Some(Who { user: token.user.clone(), uid: None, gid: None, role: token.role, tenants })
    }

    /// Who a local user is, by the credentials of a socket. Root and whoever runs the server are
    /// admins.
    pub fn who_is(&self, user: &str, uid: u32, gid: u32, server_uid: u32) -> Who {
        let admin = uid == 0 || uid == server_uid;
        let role = if admin { Role::Admin } else { Role::User };
        let tenants = if admin { Vec::new() } else { self.belongs_to(user) };
        Who { user: user.into(), uid: Some(uid), gid: Some(gid), role, tenants }
    }

    fn belongs_to(&self, user: &str) -> Vec<String> {
        let theirs = self.people.of(user);
        if theirs.is_empty() { vec![DEFAULT.into()] } else { theirs }
    }

    /// The tenant that somebody's jobs belong to unless they say otherwise.
    pub(crate) fn home(&self, who: &Who) -> String {
        match who.tenants.first() {
            Some(first) => first.clone(),
            None => self.belongs_to(&who.user).remove(0),
        }
    }

    pub(crate) fn change_tenant(
        &mut self,
        who: &Who,
        name: &str,
        change: &TenantChange,
    ) -> Result<Done, Problem> {
        self.check_tenant(name, change)?;
        let known = self.people.find(name);
        let id = match known {
            Some(id) => id,
            None => {
                let parent = change.parent.as_ref().and_then(|parent| self.people.find(parent));
                self.outgrown = true;
                self.people.add(Tenant { parent, ..Tenant::named(name) })
            }
        };
        let tenant = &mut self.people.tenants[id.index()];
        if let Some(weight) = change.weight.filter(|weight| *weight != tenant.spec.weight) {
            tenant.spec.weight = weight;
            self.outgrown = true;
        }
        tenant.spec.quota = change.quota.unwrap_or(tenant.spec.quota);
        tenant.spec.limit = change.limit.unwrap_or(tenant.spec.limit);
        tenant.users.extend(change.add_users.iter().cloned());
        for user in &change.remove_users {
            tenant.users.remove(user);
        }
        let (quota, limit) = (tenant.spec.quota, tenant.spec.limit);
        if !self.outgrown && (change.quota.is_some() || change.limit.is_some()) {
            self.tell(Event::Quota { tenant: id, quota, limit });
        }
        let mut detail = changes(change);
        if known.is_none() {
            detail.insert(0, "made".into());
        }
        self.note(who, "tenant", format!("{name}: {}", detail.join(", ")));
        Ok(Done::Changed)
    }

    /// Let the engine know of tenants that were made, and of weights that were changed.
    pub(crate) fn grow(&mut self) {
        if !std::mem::take(&mut self.outgrown) {
            return;
        }
        let mut cluster = self.inventory.cluster.clone();
        cluster.tenants = self.people.cluster_tenants();
        if self.recipe.is_by_tenant() {
            return self.begin_anew(cluster);
        }
        let policy = self.recipe.build().expect("the recipe in charge was built before");
        match self.engine.rebuilt(cluster.clone(), policy) {
            Ok(engine) => self.engine = engine,
            // A policy that cannot read what it saved itself begins anew.
            Err(_) => self.begin_anew(cluster),
        }
    }

    pub(crate) fn make_token(
        &mut self,
        who: &Who,
        request: &TokenRequest,
        hash: &str,
    ) -> Result<Done, Problem> {
        if self.people.by_hash.contains_key(hash) {
            return Err(Problem::new(Code::Conflict, "this token exists").at("hash"));
        }
        self.people.tokens_made += 1;
        let id = self.people.tokens_made;
        let expires = request.expires_s.map(|seconds| {
            self.now + heeler_model::Span::from_micros(seconds.saturating_mul(1_000_000))
        });
        let token = Token {
            hash: hash.into(),
            user: request.user.clone(),
            role: request.role,
            tenants: request.tenants.clone(),
            expires,
        };
        self.people.by_hash.insert(hash.into(), id);
        self.people.tokens.insert(id, token);
        self.note(who, "token", format!("{id} for {} as {}", request.user, request.role.word()));
        Ok(Done::Token(id))
    }

    pub(crate) fn revoke(&mut self, who: &Who, token: u32) -> Result<Done, Problem> {
        let Some(known) = self.people.tokens.remove(&token) else {
            return Err(Problem::new(Code::NotFound, format!("there is no token {token}")));
        };
        self.people.by_hash.remove(&known.hash);
        self.note(who, "revoke", format!("{token} of {}", known.user));
        Ok(Done::Changed)
    }
}
