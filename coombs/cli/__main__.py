"""`python -m coombs.cli`: the command line."""

import sys

from coombs.cli import main

sys.exit(main())
