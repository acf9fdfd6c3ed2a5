# SPDX-License-Identifier: Apache-2.0
"""Private answers to SQL on DuckDB (PAC-DB, arXiv 2603.15023).

A customer is in half of 128 worlds, and one of the worlds, drawn in secret, answers all queries. One scan of the table
computes SUM, COUNT and AVG by group in all worlds. Their noise is measured beside the published one, which noises one
cell after another, with its share of the same budget.
"""
import time

import duckdb
import numpy as np

from tacit.pac import Answering

WORLDS, CUSTOMERS = 128, 20000
BUDGET, PER_ANSWER = 1 / 4, 1 / 32  # nats
rng = np.random.default_rng(1)

# What is protected is a customer with all purchases. The subset matrix is public; which world answers is not.
members = rng.permuted(np.tile([True, False], (CUSTOMERS, WORLDS // 2)), axis=1)
names = [f"w{w}" for w in range(WORLDS)]


def shop():
    db = duckdb.connect()
    ids = np.arange(CUSTOMERS)
    customers = {"customer": ids, "region": rng.choice(["east", "north", "south", "west"], CUSTOMERS)}
    customers |= {name: members[:, w] for w, name in enumerate(names)}
    buyers = np.repeat(ids, rng.integers(1, 5, CUSTOMERS))
    purchases = {"customer": buyers, "amount": rng.lognormal(3.0, 0.8, len(buyers)), "month": rng.integers(1, 13, len(buyers))}
    for name, table in (("customers", customers), ("purchases", purchases)):
        columns = ", ".join(f"{column} {'VARCHAR' if column == 'region' else 'BOOLEAN' if column in names else 'DOUBLE'}" for column in table)
        db.execute(f"CREATE TABLE {name}({columns})")
        db.register("given", table)
        db.execute(f"INSERT INTO {name} SELECT * FROM given")
        db.unregister("given")
    return db


def in_all_worlds(db, group, where="true"):
    """SUM, COUNT and AVG of the amounts by group: the groups, and the answers of shape (WORLDS, 3 a group).

    Half of the customers are in a world, so that sums and counts are doubled. The groups are those of all customers: which
    there are does not depend on the secret.
    """
    each = ", ".join(f"coalesce(sum(total) FILTER ({w}), 0), coalesce(sum(n) FILTER ({w}), 0)" for w in names)
    rows = db.execute(f"""WITH own AS (SELECT {group} AS what, customer, sum(amount) AS total, count(*) AS n
                                       FROM purchases JOIN customers USING (customer) WHERE {where} GROUP BY ALL)
                          SELECT what, {each} FROM own JOIN customers USING (customer) GROUP BY what ORDER BY what""").fetchall()
    table = np.array([row[1:] for row in rows], dtype=float).reshape(len(rows), WORLDS, 2)
    total, count = table[..., 0], table[..., 1]
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    cells = np.stack([2 * total, 2 * count, mean], axis=-1)  # group, world, aggregate
    return [row[0] for row in rows], cells.transpose(1, 0, 2).reshape(WORLDS, -1)


def error(answers, truth):
    """Root of the mean square, relative to the truth, by SUM, COUNT and AVG."""
    relative = (np.asarray(answers) / truth - 1).reshape(len(answers), -1, 3)
    return np.sqrt((relative ** 2).mean(axis=(0, 1)))


def main(sessions=400):
    db = shop()
    answering = Answering(WORLDS, budget=BUDGET, per_answer=PER_ANSWER)
    for group, where in (("region", "true"), ("month % 2 = 0", "amount > 20")):
        began = time.perf_counter()
        groups, worlds = in_all_worlds(db, group, where)
        took = time.perf_counter() - began
        truth = np.array(db.execute(
            f"SELECT sum(amount), count(*), avg(amount) FROM purchases JOIN customers USING (customer) WHERE {where} "
            f"GROUP BY {group} ORDER BY {group}").fetchall(), dtype=float).ravel()
        said = answering.answer(worlds)
        print(f"{group}, SUM, COUNT, AVG WHERE {where}: {len(groups)} groups in {WORLDS} worlds, {1e3 * took:.0f} ms")
        for name, (total, count, mean) in zip(groups[:4], said.reshape(-1, 3)):
            print(f"  {name!s:6} {total:10.0f} {count:8.0f} {mean:8.2f}")
        # The same question in many sessions, beside noise of variance var/(2 nats) for each cell.
        ours = [Answering(WORLDS, budget=BUDGET, per_answer=PER_ANSWER).answer(worlds) for _ in range(sessions)]
        deviation = np.sqrt(worlds.var(axis=0) * worlds.shape[1] / (2 * PER_ANSWER))
        published = [worlds[rng.integers(WORLDS)] + deviation * rng.normal(size=len(deviation)) for _ in range(sessions)]
        for name, answers in (("noised together", ours), ("cell by cell", published)):
            print(f"  error {name}: " + ", ".join(f"{what} {100 * e:.1f} %" for what, e in zip(("SUM", "COUNT", "AVG"), error(answers, truth))))
    print(f"{answering.spent:.6f} nats of {BUDGET} are spent")

    # An attacker who knows all customers and worlds. The posterior is exact, so that its confidence is how often it is right.
    sure = np.zeros(CUSTOMERS)
    for _ in range(sessions):
        attacked = Answering(WORLDS, budget=BUDGET, per_answer=PER_ANSWER)
        for _ in range(round(BUDGET / PER_ANSWER)):
            attacked.answer(worlds)
        belief = members @ attacked.belief
        sure += np.maximum(belief, 1 - belief) / sessions
    print(f"{attacked.answers} answers: an attacker on a customer is right with probability {sure.mean():.3f} on average, "
          f"{sure.max():.3f} on the most exposed one; at most {attacked.attack_bound():.3f}")


if __name__ == "__main__":
    main()
