# SPDX-License-Identifier: Apache-2.0
from runner import main
main()
