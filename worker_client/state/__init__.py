"""What the worker remembers between two starts: one folder, plain JSON, atomic writes.

::

    <state folder>/
      name.json                      this computer's pseudonym
      coordinators/<host>-<digest>/
        address.txt                  whose folder this is, for people
        lock                         held while a worker works for this coordinator
        backoff.json                 not before when, failures in a row
        pseudonym-<name>.json        the token that owns the name here, lease requests counted
        work.json                    request id, then lease, then finished result
        delivered.json               results whose fate is not known yet
        trainer.log                  the training process's own words
        files/<sha256>[.part]        snapshots and shards; parts are continued
        results/<lease id>.safetensors
"""
