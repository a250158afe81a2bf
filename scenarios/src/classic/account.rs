//! One task pays in, another takes out, a third checks the balance once both have.
//!
//! The bug books the deposit on the wrong side, which shows only where the check comes last.
//! Source: `account_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "account",
    area: "classic",
    summary: "a deposit and a withdrawal, and a check of the balance after both",
    rules: &["I-BALANCE"],
    mutants: &[MutantCase {
        name: "classic.account",
        budget: 1_000,
        note: "the deposit is taken from the balance",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: account,
    ..Scenario::BASE
});

struct Account {
    balance: i64,
    is_deposited: bool,
    is_withdrawn: bool,
}

fn account() {
    // Given 1 in the account,
    let account = Account { balance: 1, is_deposited: false, is_withdrawn: false };
    let account = Arc::new(Mutex::new(account));
    // when one task pays 2 in, another takes 4 out,
    let depositor = {
        let account = account.clone();
        actor("depositor", move || {
            let mut account = lock(&account);
            account.balance += if mutant::is("classic.account") { -2 } else { 2 };
            account.is_deposited = true;
        })
    };
    let withdrawer = {
        let account = account.clone();
        actor("withdrawer", move || {
            let mut account = lock(&account);
            account.balance -= 4;
            account.is_withdrawn = true;
        })
    };
    // then whoever comes after both finds 1 too little.
    let checker = actor("checker", move || {
        let account = lock(&account);
        let balance = account.balance;
        assert!(
            !account.is_deposited || !account.is_withdrawn || balance == -1,
            "I-BALANCE: 1 + 2 - 4 is left, but it is {balance}"
        );
    });
    [depositor, withdrawer, checker].into_iter().for_each(finish);
}
